// The store of the checker: the real one in memory, by a clock that can step.
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Part } from '../../../src/requests/request.js'
import type { Outcome, RefundRequest, StoreRequest } from '../../../src/stores/contract.js'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'
import { agedTimes } from '../../support/aged-times.js'

export const KEY = 'tenant'
const ANOTHER = 'another'
/** At the beginning of windows of 800 ms. */
const BEGIN_MS = 1_770_000_000_000
/** Later than all that tests set: a store keeps subjects an hour longer under a test's clock. */
const LONG_MS = 4 * 3_600_000
/** More than any limit has. */
const TOO_MUCH = 1e6

/** One for all worlds, one after another: to make one takes longer than all that is done with it. */
const clock = { ms: 0 }
const real = new ProcessStore(100, () => clock.ms)
let refunds = 0

export function partOf(set: LimitSet): Part {
  const rest = { limits: [], planName: 'line', place: undefined, onStoreFailure: undefined, shard: 0 }
  return { ...rest, key: KEY, set, cost: 1, subject: { id: KEY } }
}

export class CheckedStore {
  /** How far its clock is ahead of the true time, in ms. */
  #aheadMs = BEGIN_MS

  constructor() {
    real.reset([KEY, ANOTHER])
    this.at(0)
  }

  /** The time passes, in ms. */
  at(trueMs: number): void {
    clock.ms = trueMs + this.#aheadMs
  }

  step(ms: number): void {
    this.#aheadMs += ms
    clock.ms += ms
  }

  consume(request: StoreRequest): Outcome {
    return real.consume([request])[0] as Outcome
  }

  refund(request: RefundRequest, id = `refund-${(refunds += 1)}`): boolean {
    return real.refund([{ ...request, id }])[0] === true
  }

  flush(): void {
    real.reset([KEY])
  }

  /** In how many ms the time of a place comes; undefined if it is not there. Changes nothing. */
  delayOf(set: LimitSet, id: string): number | undefined {
    const hold = { kind: 'place', id, lengthUs: 0, slackUs: 0, most: 0 } as const
    const parts = [{ ...partOf(set), cost: TOO_MUCH }]
    const found = this.consume({ shard: 0, grant: 'all', parts, hold }).hold
    return found && found.delayUs / 1000
  }

  /** How many units of the first limit are in places. */
  held(set: LimitSet): number {
    const [outcome] = real.peek([{ shard: 0, grant: 'all', parts: [partOf(set)] }])
    return outcome?.limits[0]?.leased ?? 0
  }

  /** All that is kept of the subject, with times before now; and where it is in windows that begin at multiples of theirs. */
  text({ limits }: LimitSet): string {
    const windowsMs = limits
      .filter(({ algorithm }) => algorithm === 'sliding-window')
      .map(({ paramsAt }) => (paramsAt(0)['windowUs'] ?? 1) / 1000)
    const phase = clock.ms % Math.max(1, ...windowsMs)
    return JSON.stringify([agedTimes(real.kept(KEY), Math.round(clock.ms * 1000)), phase])
  }

  /** Lets all time pass, but for a flaw. How many subjects are left when another one is used then. */
  leftInTheEnd(set: LimitSet, standsStill: boolean): number {
    if (!standsStill) clock.ms += LONG_MS
    this.consume({ shard: 0, grant: 'all', parts: [{ ...partOf(set), key: ANOTHER }] })
    return real.size - 1
  }
}
