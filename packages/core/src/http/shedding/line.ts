/** Something that is under way. */
export interface UnderWay {
  /** When it began, in ms of a monotonic clock. */
  sinceMs: number
}

/** Things under way in the order in which they began. What takes longer than a bound leaves by itself. */
export class Line<T extends UnderWay> {
  readonly #mostMs: number
  readonly #members = new Set<T>()

  constructor(mostMs: number) {
    this.#mostMs = mostMs
  }

  add(member: T, nowMs: number): void {
    member.sinceMs = nowMs
    this.#members.add(member)
  }

  /** Returns whether it was still there. */
  delete(member: T): boolean {
    return this.#members.delete(member)
  }

  /** How many there are, without those that took too long. */
  count(nowMs: number): number {
    for (const member of this.#members) {
      if (nowMs - member.sinceMs <= this.#mostMs) break
      this.#members.delete(member)
    }
    return this.#members.size
  }
}
