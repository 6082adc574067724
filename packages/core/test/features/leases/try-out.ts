import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Flaw } from './checker-options.js'
import { isAllowed, requestFor, type CheckedStore } from './checker-store.js'
import { Violation } from '../../support/checker.js'

interface Options {
  readonly flaw: Flaw | undefined
  /** Whether to wait as long as the store tells. */
  readonly waits: boolean
}

/** Does what the store's answers promise, until nothing is left. */
export function tryOut(store: CheckedStore, set: LimitSet, { flaw, waits }: Options): void {
  const passes = (): boolean => isAllowed(store.consume(requestFor(set)))
  const { limits } = store.peek(set)
  const leased = Math.max(...limits.map((limit) => limit.leased ?? 0))
  const more = flaw === 'tells what is on lease' ? leased : 0
  const remaining = Math.min(...limits.map((limit) => limit.remaining)) + more
  for (let i = 0; i < remaining; i += 1) {
    if (!passes()) throw new Violation('law 3', `${remaining} remained, and request ${i + 1} was denied`)
  }
  if (leased === 0 && passes())
    throw new Violation('law 3', `${remaining} remained, and one more was allowed`)
  const waitUs = Math.max(...store.peek(set).limits.map(({ wait }) => wait))
  const us = waitUs - (flaw === 'tells a shorter wait' ? 2 : 0)
  const early = precisionOf(set)
  if (waits && us > early) {
    store.now += us - early
    // With units on lease, the store knows no more than the longest that it can take.
    if (leased === 0 && passes())
      throw new Violation('law 4', `of a wait of ${us} µs the last ${early} were not needed`)
    store.now += early
    // A level that a lease raised meanwhile has drained in two steps, each of them rounded.
    if (!passes() && (store.now += 1) && !passes())
      throw new Violation('law 4', `denied after a wait of ${us} µs`)
  }
  if (store.leftInTheEnd(set, flaw === 'time stands still in the end') > 0)
    throw new Violation('law 8', 'the subject is left behind')
}

/** How much earlier than told a unit may come, in µs: entries of one slot of a log come back together. */
function precisionOf({ limits }: LimitSet): number {
  return Math.max(...limits.map(({ paramsAt }) => paramsAt(0)['slotUs'] ?? 1))
}
