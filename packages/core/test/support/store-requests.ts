import type { Receipt } from '../../src/algorithms/implementation.js'
import { limitSetOf } from '../../src/plans/limit-set-of.js'
import type { LimitSet, WaitTerms } from '../../src/plans/limit-set.js'
import type { LimitInput } from '../../src/plans/limit.js'
import type { Answer, Outcome, Store, StoreRequest } from '../../src/stores/contract.js'

/** Compiles limits into the form that stores get. */
export function setOf(...limits: readonly LimitInput[]): LimitSet {
  return limitSetOf(...limits)
}

/** A request with grant `all` for one key. */
export function requestOf(key: string, set: LimitSet, cost = 1): StoreRequest {
  return { shard: 0, parts: [{ key, set, cost }], grant: 'all' }
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
