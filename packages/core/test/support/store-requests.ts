import type { Receipt } from '../../src/algorithms/implementation.js'
import type { BlockTerms, LimitSet, WaitTerms } from '../../src/plans/limit/limit-set.js'
import { type LimitInput, createLimitSet } from '../../src/plans/limit/limit.js'
import type {
  Answer,
  ConsumeRequest,
  LeaseOrder,
  Outcome,
  Store,
  StoreRequest,
} from '../../src/stores/contract.js'
import { windowOf, type Variant } from './variants.js'

/** Compiles limits into the form that stores get. */
export function setOf(...limits: readonly LimitInput[]): LimitSet {
  return createLimitSet(...limits)
}

/** More limit sets than a store keeps the states of, beside those of the set that is asked. */
export const MANY_SETS = 70

/**
 * Limit sets with windows of their own, MANY_SETS of them. Windows on the calendar are few, so those are of logs.
 *
 * @param first limits that all of them have, too
 */
export function manySets(variant: Variant, ...first: readonly LimitInput[]): LimitSet[] {
  return Array.from({ length: MANY_SETS }, (_, i) => {
    const window = 3000 + 100 * i
    const isFree = windowOf(variant, window) === window
    return setOf(...first, isFree ? variant.limit(20, window) : { quota: 20, window })
  })
}

/** A request with grant `all` for one key. */
export function requestOf(key: string, set: LimitSet, cost = 1): ConsumeRequest {
  return { shard: 0, parts: [{ key, set, cost }], grant: 'all' }
}

/** A request with grant `lease` for one key. */
export function orderFor(key: string, set: LimitSet, order: LeaseOrder): StoreRequest {
  return { shard: 0, parts: [{ key, set, cost: 1 }], grant: 'lease', order }
}

/** Sends one request to a store. Throws the answer when it is an error. */
export async function outcomeOf(
  store: Store,
  request: StoreRequest,
  how: 'consume' | 'peek' = 'consume',
): Promise<Outcome> {
  const [answer] = await store[how]([request])
  return needOutcome(answer)
}

export function needOutcome(answer: Answer | undefined): Outcome {
  if (answer && 'limits' in answer) return answer
  throw answer ?? new Error('no answer')
}

/** The receipts for giving back units that a request with this outcome took. */
export function receiptsOf({ at, limits }: Outcome, units: number): Receipt[] {
  return limits.map(({ remaining, reset }) => ({ units, at, remaining, reset }))
}

/** The same limits, of a plan whose requests wait in line. */
export function waiting(set: LimitSet, terms: Partial<WaitTerms> = {}): LimitSet {
  return { ...set, wait: { delayUs: 2_000_000, slackUs: 20_000, most: 100, ...terms } }
}

/** The same limits, of a plan whose denials block. */
export function blockingAfter(set: LimitSet, blockAfter: BlockTerms): LimitSet {
  return { ...set, blockAfter }
}
