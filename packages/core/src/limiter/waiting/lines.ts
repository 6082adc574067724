/** What the lines need to know of one that waits. */
export interface InLine {
  /** What it waits for: the key of its subject. */
  readonly key: string
  /** The time of its place, in µs of the store's clock. */
  readonly dueUs: number
  /** When it can go, in ms of this process's clock. */
  readonly wakeAtMs: number
}

/** Those that wait, a line for each subject, in the order of the times of their places. */
export class Lines<Waiter extends InLine> {
  readonly #lines = new Map<string, Waiter[]>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(waiter: Waiter): void {
    const line = this.#lines.get(waiter.key)
    this.#size += 1
    if (!line) return void this.#lines.set(waiter.key, [waiter])
    let i = line.length
    while (i > 0 && (line[i - 1] as Waiter).dueUs > waiter.dueUs) i -= 1
    line.splice(i, 0, waiter)
  }

  /** @returns false if it was not in line any more */
  remove(waiter: Waiter): boolean {
    const line = this.#lines.get(waiter.key)
    const i = line?.indexOf(waiter) ?? -1
    if (!line || i < 0) return false
    line.splice(i, 1)
    if (line.length === 0) this.#lines.delete(waiter.key)
    this.#size -= 1
    return true
  }

  /** When the next can go, in ms: the first of a line, since nobody overtakes in it. */
  nextMs(): number {
    let next = Infinity
    for (const line of this.#lines.values()) next = Math.min(next, (line[0] as Waiter).wakeAtMs)
    return next
  }

  /** Takes all out that can go now, each line in its order. */
  takeDue(nowMs: number): Waiter[] {
    const due: Waiter[] = []
    for (const [key, line] of this.#lines) {
      let count = 0
      while (count < line.length && (line[count] as Waiter).wakeAtMs <= nowMs) count += 1
      due.push(...line.splice(0, count))
      if (line.length === 0) this.#lines.delete(key)
    }
    this.#size -= due.length
    return due
  }

  takeAll(): Waiter[] {
    return this.takeDue(Infinity)
  }
}
