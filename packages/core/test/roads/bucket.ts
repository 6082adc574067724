// The bucket of the oracle: a queue of what was poured in, which drains from its front. Whole numbers throughout: a
// unit is as many parts as its window has µs, and as many parts drain in a µs as the quota has units.
import type { LimitSpec } from './limits.js'

export interface Levels {
  /** Parts of one unit. */
  readonly unit: number
  readonly low: number
  readonly high: number
  /** Parts that rounding may have moved the level by: a µs worth, once it has drained. */
  readonly tolerance: number
}

/**
 * Two queues. A refund gives back what is left of its request; but when an earlier refund has emptied the bucket in
 * between, whose units drained meanwhile is a matter of bookkeeping, also when both were in one µs, of which the order
 * is not known. `high` is the bucket that gave nothing for such a refund, `low` the one that gave all that the laws
 * allow.
 */
export class Bucket {
  readonly #unit: number
  readonly #low: Queue
  readonly #high: Queue
  readonly #disputed = new Set<number>()
  /** Poured in at a time with others, in an order that is not known. */
  readonly #raced = new Map<number, number>()
  /** When units went back last. */
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

  /** Units went back that no request took for good: those of a request that another limit denied. */
  stir(at: number): void {
    this.#drain(at)
    this.#stirredAt = at
    for (const { id } of this.#high.poured) this.#disputed.add(id)
  }

  at(now: number): Levels {
    const [low, high] = [this.#low.at(now), this.#high.at(now)]
    return { unit: this.#unit, low: low.level, high: high.level, tolerance: high.tolerance }
  }

  /** Units of a request that may be left, of so many, and those that surely are. */
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
  /** Since it was last empty. */
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

  /** Of all that were poured at a time. */
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

  /** The last of what was poured at a time. */
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
