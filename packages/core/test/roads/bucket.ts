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
  /** When units went back last. */
  #stirredAt = -1

  constructor({ quota, windowMs }: LimitSpec) {
    this.#unit = windowMs * 1000
    this.#low = new Queue(quota)
    this.#high = new Queue(quota)
  }

  take(id: number, units: number, at: number): void {
    this.#drain(at)
    for (const queue of [this.#low, this.#high]) queue.pour(id, units * this.#unit)
    if (at === this.#stirredAt) this.#disputed.add(id)
  }

  give(id: number, units: number, at: number): void {
    this.#drain(at)
    this.#low.remove(id, units * this.#unit)
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
    const most = Math.min(this.#high.of(id, now) / this.#unit, units)
    return { least: this.#disputed.has(id) ? 0 : most, most }
  }

  #drain(at: number): void {
    this.#low.drain(at)
    this.#high.drain(at)
  }
}

class Queue {
  poured: { readonly id: number; readonly parts: number }[] = []
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

  pour(id: number, parts: number): void {
    this.poured.push({ id, parts })
  }

  remove(id: number, most: number): void {
    this.#keep(this.poured.map((one) => (one.id === id ? { id, parts: one.parts - most } : one)))
  }

  drain(at: number): void {
    let gone = (at - this.#at) * this.#pace
    this.#at = at
    if (gone <= 0 || this.poured.length === 0) return
    this.#hasDrained = true
    this.#keep(
      this.poured.map(({ id, parts }) => {
        const own = Math.min(parts, gone)
        gone -= own
        return { id, parts: parts - own }
      }),
    )
  }

  #keep(poured: typeof this.poured): void {
    this.poured = poured.filter(({ parts }) => parts > 0)
    if (this.poured.length === 0) this.#hasDrained = false
  }
}

function sum(poured: readonly { readonly parts: number }[]): number {
  return poured.reduce((total, { parts }) => total + parts, 0)
}
