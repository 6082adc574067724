import type { Verdict } from '../../requests/verdict.js'

/** The verdict for a request whose place has come. */
export function usedPlace({ step, outcome }: Verdict, waitedMs: number): Verdict {
  return { source: 'place', allowed: true, step, ...(outcome && { outcome }), waitedMs }
}

/**
 * The verdict for one that has to go before the time of its place. The limits that made it wait are those of which nothing is
 * left.
 *
 * @param restMs how long it would still have waited
 */
export function deniedPlace({ step, outcome }: Verdict, restMs: number, waitedMs: number): Verdict {
  const { at = 0, limits = [] } = outcome ?? {}
  const wait = Math.ceil(Math.max(restMs, 1) * 1000)
  const isAny = limits.some(({ remaining }) => remaining === 0)
  const denied = limits.map((limit) => ({ ...limit, wait: !isAny || limit.remaining === 0 ? wait : 0 }))
  return { source: 'place', allowed: false, step, outcome: { at, limits: denied }, waitedMs }
}
