// Closed loops: each sends its next request when it has got the last answer.

/** A run ends after this many decisions, if its time is not over before. */
const MOST_DECISIONS = 1_000_000
const KEYS = 10_000
const ids = Array.from({ length: KEYS }, (_, i) => `user-${i}`)

/**
 * Keeps `inFlight` requests pending for `ms`, over all keys in turn.
 *
 * @param {import('./contenders.mjs').Contender} contender
 * @returns the number of decisions
 * @throws when a contender gives a wrong answer, since its figures would mean nothing
 */
export async function closedLoop({ decide, isRight }, inFlight, ms) {
  const until = performance.now() + ms
  let sent = 0
  let done = 0
  const client = async () => {
    while (performance.now() < until && sent < MOST_DECISIONS) {
      const answer = await decide(ids[sent++ % KEYS])
      if (!isRight(answer)) throw new Error(`Not a right decision: ${JSON.stringify(answer)}`)
      done += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, client))
  return done
}
