// The bucket of the oracle: a queue of what was poured in, which drains from its front. Whole numbers throughout: a
// unit is as many parts as its window has µs, and as many parts drain in a µs as the quota has units.
import type { Entry } from './counter.js'
import type { LimitSpec } from './limits.js'

interface Poured {
  readonly id: number
  parts: number
}

/**
 * Two queues. A refund gives back what is left of its request; but when an earlier refund has emptied the bucket in
 * between, whose units drained meanwhile is a matter of bookkeeping: `high` is the bucket that gave nothing for such a
 * refund, `low` the one that gave all that the laws allow.
 */
export interface Levels {
  /** Parts of one unit. */
  readonly unit: number
  readonly low: number
  readonly high: number
  /** Parts that rounding may have moved the level by: a µs worth, once it has drained. */
  readonly tolerance: number
  isDisputed(id: number): boolean
  /** Parts of a request that may be left. */
  most(id: number): number
}

export function levelsOf(entries: readonly Entry[], now: number, { quota, windowMs }: LimitSpec): Levels {
  const unit = windowMs * 1000
  const low = new Queue(quota)
  const high = new Queue(quota)
  const disputed = new Set<number>()
  for (const entry of entries) {
    if (entry.at > now) break
    low.drain(entry.at)
    high.drain(entry.at)
    if (entry.what === 'take') {
      low.pour(entry.id, entry.units * unit)
      high.pour(entry.id, entry.units * unit)
      continue
    }
    low.remove(entry.id, entry.units * unit)
    if (!disputed.has(entry.id)) high.remove(entry.id, entry.units * unit)
    for (const { id } of high.poured) disputed.add(id)
  }
  low.drain(now)
  high.drain(now)
  return {
    unit,
    low: low.level,
    high: high.level,
    tolerance: high.hasDrained ? quota : 0,
    isDisputed: (id) => disputed.has(id),
    most: (id) => high.of(id),
  }
}

class Queue {
  readonly poured: Poured[] = []
  /** Since it was last empty. */
  hasDrained = false
  readonly #pace: number
  #at = 0

  constructor(pace: number) {
    this.#pace = pace
  }

  get level(): number {
    return this.poured.reduce((sum, { parts }) => sum + parts, 0)
  }

  of(id: number): number {
    return this.poured.find((one) => one.id === id)?.parts ?? 0
  }

  pour(id: number, parts: number): void {
    this.poured.push({ id, parts })
  }

  remove(id: number, most: number): void {
    const found = this.poured.find((one) => one.id === id)
    if (found) found.parts -= Math.min(found.parts, most)
    this.#dropEmpty()
  }

  drain(at: number): void {
    let parts = (at - this.#at) * this.#pace
    this.#at = at
    if (parts > 0 && this.poured.length > 0) this.hasDrained = true
    for (const one of this.poured) {
      const gone = Math.min(one.parts, parts)
      one.parts -= gone
      parts -= gone
    }
    this.#dropEmpty()
  }

  #dropEmpty(): void {
    const left = this.poured.filter(({ parts }) => parts > 0)
    this.poured.splice(0, this.poured.length, ...left)
    if (left.length === 0) this.hasDrained = false
  }
}
