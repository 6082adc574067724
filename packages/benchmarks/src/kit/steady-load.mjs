// A load that leaves the event loop its turns, as requests that arrive do: leases are renewed between them.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Decisions that one turn of the event loop brings. */
const A_TURN = 64
/** With more pending, the load would measure how long a queue gets. */
const MOST_UNDER_WAY = 512

/**
 * Asks for as much as is answered: 64 at once, and a turn of the event loop after them.
 *
 * @param {import('./contenders.mjs').Contender} contender
 * @returns `{ decisions, leased }`
 * @throws when a request is denied, or its answer is no decision
 */
export async function fullSpeed({ decide, allowed }, idOf, ms) {
  const until = performance.now() + ms
  const seen = { decisions: 0, leased: 0 }
  while (performance.now() < until) {
    const answers = Array.from({ length: A_TURN }, () => decide(idOf(seen.decisions++)))
    for (const answer of answers) {
      const decision = await answer
      if (!allowed(decision, false)) throw new Error('A request was denied')
      if (decision.source === 'lease') seen.leased += 1
    }
    await nextTurn()
  }
  return seen
}

/** Asks `rate` times a second, as far as answers keep up with it. @returns as `fullSpeed` */
export async function steady({ decide, allowed }, idOf, { rate, ms }) {
  const seen = { decisions: 0, leased: 0 }
  let underWay = 0
  let failure
  const ask = async (i) => {
    underWay += 1
    try {
      const decision = await decide(idOf(i))
      if (!allowed(decision, false)) throw new Error('A request was denied')
      seen.decisions += 1
      if (decision.source === 'lease') seen.leased += 1
    } catch (error) {
      failure = error
    }
    underWay -= 1
  }
  const start = performance.now()
  for (let sent = 0; performance.now() < start + ms && !failure; await sleep(1)) {
    const due = ((performance.now() - start) * rate) / 1000
    for (; sent < due && underWay < MOST_UNDER_WAY; sent += 1) void ask(sent)
  }
  while (underWay > 0) await sleep(1)
  if (failure) throw failure
  return seen
}
