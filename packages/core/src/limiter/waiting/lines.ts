/** What the lines need to know about a request that waits. Times are in ms of this process's clock, unless stated otherwise. */
export interface InLine {
  /** The line it waits in: the key of its subject. */
  readonly key: string
  /** The time of its place, in µs of the store's clock. */
  readonly dueUs: number
  /** How far the store's clock was ahead of this process's when it booked the place, in ms: between these two. */
  readonly aheadMs: readonly [least: number, most: number]
  /** When it can go at the earliest. */
  readonly wakeAtMs: number
  /** Up to when it can let others go first. */
  readonly latestMs: number
}

/** One in line, and when it goes. */
interface Spot<Waiter> {
  readonly waiter: Waiter
  goesAtMs: number
}

/** A store counts in whole µs. */
const ROUNDING_MS = 0.002

/**
 * The requests that wait, in a line for each subject. No request overtakes another of its line. But none waits for those
 * in front beyond its own `latestMs`: the store's clock can step back, and then the times of earlier and later places
 * cannot be compared.
 */
export class Lines<Waiter extends InLine> {
  readonly #lines = new Map<string, Spot<Waiter>[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(waiter: Waiter): void {
    this.#size += 1
    const line = this.#lines.get(waiter.key) ?? []
    this.#lines.set(waiter.key, line)
    let i = line.length
    while (i > 0 && isBefore(waiter, (line[i - 1] as Spot<Waiter>).waiter)) i -= 1
    line.splice(i, 0, { waiter, goesAtMs: 0 })
    schedule(line, i)
  }

  /** @returns false if it was not in line any more */
  remove(waiter: Waiter): boolean {
    const line = this.#lines.get(waiter.key) ?? []
    const i = line.findIndex((spot) => spot.waiter === waiter)
    if (i < 0) return false
    line.splice(i, 1)
    schedule(line, i)
    if (line.length === 0) this.#lines.delete(waiter.key)
    this.#size -= 1
    return true
  }

  /** When the next request goes, in ms; Infinity when none waits. */
  nextMs(): number {
    let next = Infinity
    for (const line of this.#lines.values()) {
      for (const { goesAtMs } of line) if (goesAtMs < next) next = goesAtMs
    }
    return next
  }

  /** Removes and returns all requests that go now, each line in its order. */
  takeDue(nowMs: number): Waiter[] {
    const due: Waiter[] = []
    for (const [key, line] of this.#lines) {
      const rest = line.filter(({ goesAtMs }) => goesAtMs > nowMs)
      if (rest.length === line.length) continue
      for (const { waiter, goesAtMs } of line) if (goesAtMs <= nowMs) due.push(waiter)
      if (rest.length > 0) this.#lines.set(key, rest)
      else this.#lines.delete(key)
    }
    this.#size -= due.length
    return due
  }

  all(): Waiter[] {
    return [...this.#lines.values()].flatMap((line) => line.map(({ waiter }) => waiter))
  }

  takeAll(): Waiter[] {
    return this.takeDue(Infinity)
  }
}

/** Whether a place comes before another. Only places by one clock can be compared by their times. */
function isBefore(a: InLine, b: InLine): boolean {
  const [aLeast, aMost] = a.aheadMs
  const [bLeast, bMost] = b.aheadMs
  const isOneClock = aLeast <= bMost + ROUNDING_MS && bLeast <= aMost + ROUNDING_MS
  return isOneClock ? a.dueUs < b.dueUs : a.wakeAtMs < b.wakeAtMs
}

/** Sets when each request goes, from this index on: not before the one in front, as long as it can wait for that one. */
function schedule(line: readonly Spot<InLine>[], from: number): void {
  let beforeMs = line[from - 1]?.goesAtMs ?? -Infinity
  for (let i = from; i < line.length; i += 1) {
    const spot = line[i] as Spot<InLine>
    const { wakeAtMs, latestMs } = spot.waiter
    beforeMs = spot.goesAtMs = Math.max(wakeAtMs, Math.min(beforeMs, latestMs))
  }
}

/** The most requests of a limiter that wait or ask for a place at a time. */
const MOST = 1000
/** The most such requests of one subject. */
const MOST_OF_ONE = MOST / 4

/** Bounds how many requests wait in this process, and how many of them one subject can have. */
export class Seats {
  readonly #taken = new Map<string, number>()
  #total = 0

  get taken(): number {
    return this.#total
  }

  /** @returns false if there is none left */
  take(key: string): boolean {
    const own = this.#taken.get(key) ?? 0
    if (this.#total >= MOST || own >= MOST_OF_ONE) return false
    this.#total += 1
    this.#taken.set(key, own + 1)
    return true
  }

  free(key: string): void {
    const own = this.#taken.get(key) ?? 0
    if (own === 0) return
    this.#total -= 1
    if (own === 1) this.#taken.delete(key)
    else this.#taken.set(key, own - 1)
  }
}
