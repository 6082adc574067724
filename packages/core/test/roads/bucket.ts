// The bucket of the oracle: a queue of the units that were poured in, which drains from its front. All numbers are
// whole: a unit has as many parts as its window has µs, and in each µs as many parts drain as the quota has units.
import type { LimitSpec } from './limits.js'

export interface Levels {
  /** Parts of one unit. */
  readonly unit: number
  readonly low: number
  readonly high: number
  /** Parts by which rounding may have changed the level: those of one µs, once anything has drained. */
  readonly tolerance: number
}

/**
 * The level as a range, kept as two queues. A refund gives back the units of its request that have not drained yet. But
 * after an earlier refund the laws do not say which requests the drained units belong to, and within one µs the order
 * of requests and refunds is unknown. `high` is the bucket if such refunds give nothing, `low` if they give all that
 * the laws allow.
 */
export class Bucket {
  readonly #unit: number
  readonly #low: Queue
  readonly #high: Queue
  /** Ids of requests whose refund may give anything from nothing to all. */
  readonly #disputed = new Set<number>()
  /** By id: when a request was poured in together with others, in an unknown order. */
  readonly #raced = new Map<number, number>()
  /** When units last went back. */
  #stirredAt = -1

  constructor({ quota, windowMs }: LimitSpec) {
    this.#unit = windowMs * 1000
    this.#low = new Queue(quota)
    this.#high = new Queue(quota)
  }

  take(id: number, units: number, at: number, isRace: boolean): void {
    this.#drain(at)
    for (const queue of [this.#low, this.#high]) queue.pour({ id, parts: units * this.#unit, at })
    if (isRace) {
      this.#raced.set(id, at)
      this.#disputed.add(id)
    }
    if (at === this.#stirredAt) this.#disputed.add(id)
  }

  give(id: number, units: number, at: number): void {
    this.#drain(at)
    const racedAt = this.#raced.get(id)
    if (racedAt !== undefined) this.#low.removeLatest(racedAt, units * this.#unit)
    else this.#low.remove(id, units * this.#unit)
    if (!this.#disputed.has(id)) this.#high.remove(id, units * this.#unit)
    this.stir(at)
  }

  /** Notes that units were taken and went back, because another limit denied the request. */
  stir(at: number): void {
    this.#drain(at)
    this.#stirredAt = at
    for (const { id } of this.#high.poured) this.#disputed.add(id)
  }

  at(now: number): Levels {
    const [low, high] = [this.#low.at(now), this.#high.at(now)]
    return { unit: this.#unit, low: low.level, high: high.level, tolerance: high.tolerance }
  }

  /** How many of the `units` of a request have not drained, at least and at most. */
  left(id: number, units: number, now: number): { least: number; most: number } {
    const racedAt = this.#raced.get(id)
    const held = racedAt === undefined ? this.#high.of(id, now) : this.#high.ofAll(racedAt, now)
    const most = Math.min(held / this.#unit, units)
    return { least: this.#disputed.has(id) ? 0 : most, most }
  }

  #drain(at: number): void {
    this.#low.drain(at)
    this.#high.drain(at)
  }
}

interface Poured {
  readonly id: number
  readonly parts: number
  readonly at: number
}

class Queue {
  poured: readonly Poured[] = []
  /** Whether anything has drained since the queue was last empty. */
  #hasDrained = false
  readonly #pace: number
  #at = 0

  constructor(pace: number) {
    this.#pace = pace
  }

  at(now: number): { level: number; tolerance: number } {
    const gone = (now - this.#at) * this.#pace
    const level = Math.max(sum(this.poured) - gone, 0)
    return { level, tolerance: level > 0 && (this.#hasDrained || gone > 0) ? this.#pace : 0 }
  }

  of(id: number, now: number): number {
    const gone = (now - this.#at) * this.#pace
    const place = this.poured.findIndex((one) => one.id === id)
    if (place === -1) return 0
    const before = sum(this.poured.slice(0, place))
    const { parts } = this.poured[place] as { parts: number }
    return Math.min(Math.max(before + parts - gone, 0), parts)
  }

  /** Parts left of all requests that were poured in at the time `at`. */
  ofAll(at: number, now: number): number {
    const peers = this.poured.filter((one) => one.at === at)
    return sum(peers.map((peer) => ({ parts: this.of(peer.id, now) })))
  }

  pour(one: Poured): void {
    this.poured = [...this.poured, one]
  }

  remove(id: number, most: number): void {
    this.#keep(this.poured.map((one) => (one.id === id ? { ...one, parts: one.parts - most } : one)))
  }

  /** Removes parts of the requests that were poured in at the time `at`, the last request first. */
  removeLatest(at: number, most: number): void {
    let left = most
    const fromBack = this.poured.toReversed().map((one) => {
      if (one.at !== at) return one
      const own = Math.min(one.parts, left)
      left -= own
      return { ...one, parts: one.parts - own }
    })
    this.#keep(fromBack.toReversed())
  }

  drain(at: number): void {
    let gone = (at - this.#at) * this.#pace
    this.#at = at
    if (gone <= 0 || this.poured.length === 0) return
    this.#hasDrained = true
    this.#keep(
      this.poured.map((one) => {
        const own = Math.min(one.parts, gone)
        gone -= own
        return { ...one, parts: one.parts - own }
      }),
    )
  }

  #keep(poured: readonly Poured[]): void {
    this.poured = poured.filter(({ parts }) => parts > 0)
    if (this.poured.length === 0) this.#hasDrained = false
  }
}

function sum(poured: readonly { readonly parts: number }[]): number {
  return poured.reduce((total, { parts }) => total + parts, 0)
}
