// How npm run api writes a page of docs/reference/api: every export with its docstring and its declaration.

/** The address of the page on a module of Tollgate, from another such page. */
const linkTo = (module) => `[${module}](${/^@tollgate\/([\w-]+)/.exec(module)?.[1]}.md)`

export const PAGE = {
  title: (name, description) =>
    `<!-- Made by npm run api from the docstrings: change these instead. -->\n\n# ${name}\n\n${description}.\n\n` +
    'Every export, with its types. The guides say how to use them.\n\n',
  heading: (text) => `## ${text}\n\n`,
  more: 'Types that these mention',
  star: (module) => `Everything that ${linkTo(module)} exports.`,
  again: (names) => `Also ${names.map((name) => `\`${name}\``).join(', ')}.`,
  moved: ({ name, module }) => `\`${name}\`, of ${module}.`,
  declared: (name, _, all) =>
    [`### ${name}`, ...all.flatMap(({ docstring, documented }) => partsOf(docstring, documented))].join(
      '\n\n',
    ) + '\n',
  augments: ({ documented }) => codeOf(documented),
}

/** Not `ts`, since that would be a program. */
const codeOf = (text) => `\`\`\`typescript\n${text.trim()}\n\`\`\``

const NAMES = { returns: 'Returns', throws: 'Throws', see: 'See' }

/** A docstring as Markdown, around the declaration: what it says, what goes in and comes out, then examples. */
function partsOf(docstring, declaration) {
  const text = docstring
    .replace(/^[ \t]*\* ?/gm, '')
    .replace(/^```ts$/gm, '```typescript')
    .trim()
  const [prose, ...tags] = text.split(/^@(?=\w)/m).map((part) => part.trim())
  const examples = tags.filter((tag) => tag.startsWith('example'))
  const items = tags.filter((tag) => !tag.startsWith('example')).map(itemOf)
  const code = examples.map((tag) => codeOf(tag.slice('example'.length)))
  return [prose, items.join('\n'), codeOf(declaration), ...code].filter(Boolean)
}

function itemOf(tag) {
  const [, name, said] = /^(\w+)\s*([\s\S]*)$/.exec(tag.replace(/\s*\n\s*/g, ' '))
  if (name === 'param') return `- ${said.replace(/^(\S+)\s+/, '`$1`: ')}`
  const [, type, rest] = /^(?:\{([^}]*)\}\s*)?(.*)$/.exec(said)
  return `- ${NAMES[name] ?? name}: ${[type && `\`${type}\``, rest].filter(Boolean).join(' ')}`
}
