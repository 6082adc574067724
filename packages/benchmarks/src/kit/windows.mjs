/**
 * The most decisions in any window of a length. When a decision took its unit is known only to lie in it, so it counts if it
 * lies in the window wholly: the result is never more than the truth.
 *
 * @param {[from: number, to: number][]} decisions in ms, in the order of their begin
 * @param {number} lengthMs
 */
export function mostInWindow(decisions, lengthMs) {
  let most = 0
  for (const [i, [begin]] of decisions.entries()) {
    let inside = 0
    for (let j = i; j < decisions.length && decisions[j][0] <= begin + lengthMs; j += 1) {
      if (decisions[j][1] <= begin + lengthMs) inside += 1
    }
    most = Math.max(most, inside)
  }
  return most
}
