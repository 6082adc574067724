// Closed loops: each sends its next request when the last one is answered.

/** Where even the fastest contender stops, if time does not stop it. */
const MOST_DECISIONS = 1_000_000
const KEYS = 10_000
const ids = Array.from({ length: KEYS }, (_, i) => `user-${i}`)

/**
 * Keeps this many in flight for the time, over all keys in turn.
 *
 * @param {import('./contenders.mjs').Contender} contender
 * @returns how many were decided
 * @throws when one of them was not decided rightly: its figures would be of something else
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
