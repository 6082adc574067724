import type { Receipt } from '../../src/algorithms/implementation.js'
import { compileLimits, type LimitSet } from '../../src/plans/limit-set.js'
import { parseLimit, type LimitInput } from '../../src/plans/limit.js'
import type { Answer, Outcome, Store, StoreRequest } from '../../src/stores/contract.js'

/** Limits as stores see them. */
export function setOf(...limits: readonly LimitInput[]): LimitSet {
  return compileLimits(limits.map((limit) => parseLimit(limit, 'limit')))
}

/** A request that takes all of a cost from one key, or nothing. */
export function requestOf(key: string, set: LimitSet, cost = 1): StoreRequest {
  return { shard: 0, parts: [{ key, set, cost }], grant: 'all' }
}

/** Asks for one request; throws what it is answered with when that is an error. */
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

/** What it takes to give back units that an outcome took. */
export function receiptsOf({ at, limits }: Outcome, units: number): Receipt[] {
  return limits.map(({ remaining, reset }) => ({ units, at, remaining, reset }))
}
