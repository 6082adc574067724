// Closed loops: each sends its next request when its last one is answered.

/** The most requests of one call: it ends here even when there is time left. */
const MOST_DECISIONS = 1_000_000
const KEYS = 10_000
const ids = Array.from({ length: KEYS }, (_, i) => `user-${i}`)

/**
 * Keeps `inFlight` requests in flight for `ms` milliseconds, and uses the keys in turn.
 *
 * @param {import('./contenders.mjs').Contender} contender
 * @returns the number of decisions
 * @throws when an answer is not a real decision, because the figures would then measure something else
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
