const NONE = -1

/** Numbers from 0 in the order of last use: a list linked by numbers, so that to move one touches few places in memory. */
export class IdleOrder {
  /** The one that is idle longest; -1 if there is none. */
  oldest = NONE
  #newest = NONE
  /** For each number its neighbours: the next older, then the next newer. */
  #links = new Int32Array(0)
  #size = 0

  /** Makes room for more numbers. */
  grow(by: number): void {
    this.#size += by
    if (2 * this.#size <= this.#links.length) return
    const links = new Int32Array(4 * this.#size)
    links.set(this.#links)
    this.#links = links
  }

  add(id: number): void {
    const links = this.#links
    links[2 * id] = this.#newest
    links[2 * id + 1] = NONE
    if (this.#newest === NONE) this.oldest = id
    else links[2 * this.#newest + 1] = id
    this.#newest = id
  }

  remove(id: number): void {
    const links = this.#links
    const older = links[2 * id] as number
    const newer = links[2 * id + 1] as number
    if (older === NONE) this.oldest = newer
    else links[2 * older + 1] = newer
    if (newer === NONE) this.#newest = older
    else links[2 * newer] = older
  }

  /** Makes a number the newest. */
  use(id: number): void {
    if (id === this.#newest) return
    this.remove(id)
    this.add(id)
  }
}
