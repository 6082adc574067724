/** What is read once for all who ask within some time. */
export class Shared<T> {
  readonly #read: () => Promise<T>
  readonly #keptMs: number
  #known: { readonly untilMs: number; readonly value: Promise<T> } | undefined

  /** @param keptMs for how long an answer is good, in ms */
  constructor(read: () => Promise<T>, keptMs: number) {
    this.#read = read
    this.#keptMs = keptMs
  }

  /** @throws whatever the reading does; then the next one reads again */
  value(): Promise<T> {
    if (this.#known && performance.now() < this.#known.untilMs) return this.#known.value
    const value = this.#read()
    const known = { untilMs: performance.now() + this.#keptMs, value }
    this.#known = known
    value.catch(() => {
      if (this.#known === known) this.#known = undefined
    })
    return value
  }

  /** It has changed. */
  forget(): void {
    this.#known = undefined
  }
}
