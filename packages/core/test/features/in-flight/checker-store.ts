// The store of the checker, and what it counts for each process.
import type { ConcurrentState } from '../../../src/algorithms/concurrent/concurrent.js'
import { isTaken } from '../../../src/requests/request.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import { createLimitSet, type Outcome, type StoreRequest } from '../../../src/store.js'
import type { KeptParts } from '../../../src/stores/memory/other-limits.js'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'

export const KEYS = ['tenant', 'user'] as const
export type Key = (typeof KEYS)[number]
const BEGIN_MS = 1_770_000_000_000
/** Longer than a store keeps anything: under a test's clock that is an hour more. */
const LONG_MS = 4 * 3_600_000
/** One for all worlds, one after another: to make one takes longer than all that is done with it. */
const clock = { nowMs: BEGIN_MS }
const real = new ProcessStore(100, () => clock.nowMs)
const sets = new Map<number, LimitSet>()

export interface Row {
  readonly id: string
  readonly held: number
  readonly number: number
  /** In ms from now. */
  readonly endsInMs: number
}

/** By a flaw, one more request runs. */
export function largerThan({ limits }: LimitSet): LimitSet {
  return setOf((limits[0]?.paramsAt(0)['quota'] ?? 0) + 1)
}

export class CheckedStore {
  readonly forgetsDenied: boolean

  constructor(forgetsDenied: boolean) {
    this.forgetsDenied = forgetsDenied
    clock.nowMs = BEGIN_MS
    real.reset(KEYS)
  }

  pass(ms: number): void {
    clock.nowMs += ms
  }

  /** @param isLost whether it answers a message without taking it */
  consume(request: StoreRequest, isLost: boolean): Outcome {
    const denied = this.forgetsDenied && request.grant === 'all' && real.peek([request])[0]
    if (denied && !isTaken(denied)) return denied
    if (!isLost) return real.consume([request])[0] as Outcome
    const limits = request.parts.map(({ key, slots }) => {
      const own = this.rows(key as Key).find(({ id }) => id === slots?.id)
      const [{ remaining } = { remaining: 0 }] =
        real.peek([{ ...request, grant: 'all' } as StoreRequest])[0]?.limits ?? []
      return { wait: 0, remaining, reset: 0, slot: Math.max(own?.number ?? 0, slots?.known ?? 0) }
    })
    return { at: clock.nowMs * 1000, limits }
  }

  /** Loses all data, or what ends in so many ms that its clock steps forward. */
  lose(ms?: number): void {
    if (ms === undefined) real.reset(KEYS)
    else this.pass(ms)
  }

  /** How many slots of a key it counts for a holder. */
  heldBy(holder: string, key: Key): number {
    return this.rows(key).find(({ id }) => id === holder)?.held ?? 0
  }

  /** The rows of a key that have not ended. */
  rows(key: Key): Row[] {
    const kept = real.kept(key) as KeptParts | undefined
    return (kept?.own ?? []).flatMap(({ state, last }) => {
      const backMs = Math.floor(Math.max(last / 1000 - clock.nowMs, 0))
      return (state as ConcurrentState).rows
        .map(({ id, held, known, endsMs }) => ({
          ...{ id, held, number: known },
          endsInMs: endsMs - backMs - clock.nowMs,
        }))
        .filter(({ endsInMs }) => endsInMs > 0)
    })
  }

  /** How many subjects are left when all time has passed and another one is used. */
  left(standsStill: boolean): number {
    if (!standsStill) clock.nowMs += LONG_MS
    real.consume([{ shard: 0, grant: 'all', parts: [{ key: 'another', set: setOf(1), cost: 1 }] }])
    const left = real.size - 1
    real.reset(['another'])
    return left
  }
}

/** The limits of a plan that lets so many requests run at a time. */
export function setOf(quota: number): LimitSet {
  const set = sets.get(quota) ?? createLimitSet({ concurrent: quota })
  sets.set(quota, set)
  return set
}
