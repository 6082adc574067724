import type {
  ConsumeRequest,
  LimitOutcome,
  Outcome,
  RefundPart,
  StoreRequest,
  SubRequest,
} from '../../../src/stores/contract.js'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { createLimitSet } from '../../../src/plans/limit/limit.js'

export const setOf = createLimitSet

export const FIVE = setOf({ quota: 5, window: 'min', algorithm: 'fixed-window' })

/** A memory store on a test's clock, in ms. */
export function storeAt(
  nowMs = 1_770_000_000_000,
  maxSubjects = 100_000,
): { store: ProcessStore; clock: { now: number } } {
  const clock = { now: nowMs }
  return { store: new ProcessStore(maxSubjects, () => clock.now), clock }
}

export const part = (key: string, cost = 1, set: LimitSet = FIVE): SubRequest => ({ key, set, cost })

export const ask = (...parts: SubRequest[]): ConsumeRequest => ({ shard: 0, parts, grant: 'all' })

export const upTo = (...parts: SubRequest[]): StoreRequest => ({ shard: 0, parts, grant: 'upTo' })

export function one(store: ProcessStore, request: StoreRequest): Outcome {
  return store.consume([request])[0] as Outcome
}

export const remainingOf = ({ limits }: Outcome): number[] => limits.map(({ remaining }) => remaining)

export function refundPart({ key, set }: SubRequest, { at, limits }: Outcome, units: number[]): RefundPart {
  const receipts = (limits as LimitOutcome[]).map(({ remaining, reset }, i) => {
    return { units: units[i] ?? 0, at, remaining, reset }
  })
  return { key, set, receipts }
}
