import {
  createLimitSet,
  type LimitInput,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
  type SlotHolder,
  type SubRequest,
} from '@tollgate/core/store'
import type { Bench } from '../bench.js'
import { all, isTaken } from '../requests.js'

/** A process of a check. It learns from every answer. */
export class Holder implements SlotHolder {
  readonly id: string
  held: number
  known: number
  readonly #bench: Bench

  /** @param n which process of the check it is */
  constructor(bench: Bench, n: number, held = 0, known = 0) {
    this.#bench = bench
    this.id = `proc-${n}`
    this.held = held
    this.known = known
  }

  /** A part that reports what the process has now. */
  asking(key: string, set: LimitSet, cost = 1): SubRequest {
    const { id, held, known } = this
    return { ...this.#bench.part(key, cost, set), slots: { id, held, known } }
  }

  /** Sends a request. Returns whether it may run. */
  async begin(key: string, set: LimitSet, cost = 1): Promise<boolean> {
    const [outcome] = (await this.#bench.consume(all(this.asking(key, set, cost)))) as [Outcome]
    this.#learn(outcome, set)
    if (isTaken(outcome)) this.held += 1
    return isTaken(outcome)
  }

  /** Reports what the process has now. Returns how many more requests may run. */
  async tell(grant: 'declare' | 'release', key: string, set: LimitSet): Promise<number> {
    const parts = [this.asking(key, set)]
    const [outcome] = (await this.#bench.consume({ shard: 0, grant, parts })) as [Outcome]
    this.#learn(outcome, set)
    return slotsIn(outcome, set).remaining
  }

  #learn(outcome: Outcome, set: LimitSet): void {
    this.known = Math.max(this.known, slotsIn(outcome, set).slot ?? 0)
  }
}

/** Limits of which the last one is of requests in flight. */
export function slotsOf(concurrent: number, ...others: readonly LimitInput[]): LimitSet {
  return createLimitSet(...others, { concurrent })
}

/** How many more requests may run. */
export async function free(bench: Bench, key: string, set: LimitSet): Promise<number> {
  return (await bench.left(key, set))[set.inFlightIndex as number] as number
}

export function slotsIn({ limits }: Outcome, set: LimitSet): LimitOutcome {
  return limits[set.inFlightIndex as number] as LimitOutcome
}
