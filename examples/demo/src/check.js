// Whether a tenant got what its plan promises, no more and no less, seen from outside.
//
// A client knows of a decision only that it fell between sending and answer. So a request is counted as too many
// where its round trip is wholly inside the window, and a denial is called wrong where even all requests whose round
// trip touches the window would not have used the plan up. What that leaves open is the round trip, a few ms here.

/** Clients measure with another clock than Redis: how far the two may part in a window, in ms. */
const CLOCKS_PART_MS = 5

/**
 * A promise: the most and the least units that a plan lets through in any time of `ms` in which more are wanted.
 *
 * @param lateMs how long after the window a unit may come back
 */
export function slidingLog({ quota, windowMs, lateMs = 0 }) {
  return {
    most: (ms) => (ms < windowMs ? quota : Infinity),
    least: (ms) => (ms < windowMs + lateMs ? quota : Infinity),
  }
}

export function tokenBucket({ perSecond, burst }) {
  const units = (ms) => burst + (Math.max(ms, 0) * perSecond) / 1000
  return { most: units, least: units }
}

/** What is wrong, in sentences; nothing when all is well. */
export function findFaults(tenants) {
  const faults = []
  for (const { name: padded, log, promise, failed } of tenants) {
    const name = padded.trim().replace(/ +/, ' ')
    const over = promise && findExcess(log, promise)
    const short = promise && findShortfall(log, promise)
    if (over) faults.push(`${name} got ${over.units} too many: ${over.passed} in ${Math.round(over.ms)} ms`)
    if (short) {
      faults.push(`${name} got too few: ${short.denials} limited with up to ${short.units} of its plan left`)
    }
    if (failed > 0) faults.push(`${name}: ${failed} requests were answered neither 200 nor 429`)
  }
  return faults
}

/** The most requests let through in any true window of this length. */
export function mostInAnyWindow(log, windowMs) {
  const passed = log.filter(isPassed)
  const within = ({ sentAt: start }) =>
    passed.filter(({ sentAt, answeredAt }) => sentAt >= start && answeredAt < start + windowMs).length
  return Math.max(0, ...passed.map(within))
}

/** The stretch of time in which most more passed than the plan gives; undefined when there is none. */
export function findExcess(log, { most }) {
  const byAnswer = log.filter(isPassed).toSorted((a, b) => a.answeredAt - b.answeredAt)
  let worst
  for (const { sentAt: start } of byAnswer) {
    let passed = 0
    for (const { sentAt, answeredAt } of byAnswer) {
      if (sentAt < start) continue
      passed += 1
      const ms = answeredAt - start
      const units = passed - Math.floor(most(ms + CLOCKS_PART_MS))
      if (units > (worst?.units ?? 0)) worst = { units, passed, ms }
    }
  }
  return worst
}

/** Denials before which the plan was not used up, and by how much it was not; undefined when there are none. */
export function findShortfall(log, promise) {
  const passed = log.filter(isPassed).toSorted((a, b) => b.answeredAt - a.answeredAt)
  const left = log.filter(({ status }) => status === 429).map((denial) => leastLeft(denial, passed, promise))
  const wrong = left.filter((units) => units >= 1)
  return wrong.length > 0 ? { denials: wrong.length, units: Math.floor(Math.max(...wrong)) } : undefined
}

/** The fewest units that the tenant can have had left when it was denied. */
function leastLeft(denial, passedLatestFirst, { least }) {
  let units = least(0)
  let used = 0
  for (const { sentAt, answeredAt } of passedLatestFirst) {
    if (sentAt > denial.answeredAt) continue
    used += 1
    units = Math.min(units, least(denial.sentAt - answeredAt - CLOCKS_PART_MS) - used)
  }
  return units
}

const isPassed = ({ status }) => status === 200
