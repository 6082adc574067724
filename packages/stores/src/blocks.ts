/** The most blocks to remember, and for how long before the store is asked again: the block may have been lifted there. */
const [MOST, RECHECK_MS] = [10_000, 1000]

/** The blocks that this process knows, so that a blocked client's requests do not all reach the store. */
export class Blocks {
  readonly #now: () => number
  readonly #known = new Map<string, { readonly endsAt: number; readonly recheckAt: number }>()

  /** @param now the time in ms that the store counts by, from any beginning */
  constructor(now: () => number) {
    this.#now = now
  }

  /** @returns ms until the block ends; 0 if none is known */
  leftMs(id: string): number {
    const block = this.#known.get(id)
    const now = this.#now()
    if (!block) return 0
    if (now < block.endsAt && now < block.recheckAt) return block.endsAt - now
    this.#known.delete(id)
    return 0
  }

  remember(id: string, leftMs: number): void {
    const now = this.#now()
    const [oldest] = this.#known.keys()
    if (this.#known.size >= MOST && oldest !== undefined) this.#known.delete(oldest)
    this.#known.set(id, { endsAt: now + leftMs, recheckAt: now + RECHECK_MS })
  }
}
