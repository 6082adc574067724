/** Matches comments, and strings and long brackets, in which two dashes are no comment. */
const TOKENS =
  /--\[(=*)\[[\s\S]*?\]\1\]|--[^\n]*|\[(=*)\[[\s\S]*?\]\2\]|"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*'/g

/** Lua without comments, indentation and blank lines, as it is sent to servers. */
export function withoutComments(text) {
  const bare = text.replace(TOKENS, (token) => (token.startsWith('--') ? ' ' : token))
  const holdsLines = (bare.match(TOKENS) ?? []).some((token) => token.includes('\n'))
  if (holdsLines) throw new Error('a string of several lines would lose its indentation')
  return bare
    .replace(/^[ \t]+|[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .replace(/^\n/, '')
}
