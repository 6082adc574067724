// A model that makes words up. One that you pay for tells the same: how many tokens an answer took.
const WORDS = ['the', 'quick', 'brown', 'fox', 'jumps', 'over', 'the', 'lazy', 'dog']

/** About so many tokens a text has. */
export const tokensOf = (text) => text.split(/\s+/).filter(Boolean).length

/**
 * Answers a prompt word by word, each of them a token, with as many as the prompt has, times three.
 *
 * @param most   the most tokens of the answer
 * @param signal ends it, since every token costs
 */
export async function* complete(prompt, { most, signal }) {
  const length = Math.min(tokensOf(prompt) * 3, most)
  for (let i = 0; i < length && !signal.aborted; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    yield WORDS[i % WORDS.length]
  }
}
