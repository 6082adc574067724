// A model that makes words up, in place of yours.
const WORDS = ['the', 'quick', 'brown', 'fox', 'jumps', 'over', 'the', 'lazy', 'dog']

/** About how many tokens a text has. */
export const tokensOf = (text) => text.split(/\s+/).filter(Boolean).length

/**
 * Answers a prompt word by word, each a token: three times as many as the prompt has.
 *
 * @param most   the most tokens that the answer may have
 * @param signal ends the answer
 */
export async function* complete(prompt, { most, signal }) {
  const length = Math.min(tokensOf(prompt) * 3, most)
  for (let i = 0; i < length && !signal.aborted; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    yield WORDS[i % WORDS.length]
  }
}
