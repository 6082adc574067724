// Judges the answers that the client of the HTTP sections counted.

/** Of fewer answers, the units that come back to a token bucket are a large share: those say nothing. */
const ENOUGH = 1000
const LEAST_DENIED = 0.95

/**
 * @param {string} what named in the error
 * @param {{ passed: number, denied: number, other: number }} counted
 * @param {boolean} denies whether nearly all answers of a flood must be denials; otherwise none may be one
 * @returns how many answers there are
 * @throws when there is none, one that is neither 200 nor 429, or too many or too few denials
 */
export function checkAnswers(what, { passed, denied, other }, denies) {
  const total = passed + denied + other
  const isShareWrong = denies ? total >= ENOUGH && denied < LEAST_DENIED * total : denied > 0
  if (total === 0 || other > 0 || isShareWrong)
    throw new Error(`${what}: of ${total} answers ${denied} were 429, ${other} neither that nor 200`)
  return total
}
