import { clearTimeout, setTimeout } from '../../base/timers.js'
import type { StoreListener } from '../contract.js'

/** The part of a store's listener that evictions need. */
export type EvictionListener = Pick<StoreListener, 'onEvicted'>

const REPORTED_EVERY_MS = 1000

/** Reports to listeners how many subjects were evicted: at most once a second, and never during a decision. */
export class EvictionReport {
  /** Each listener with the number not yet reported to it. */
  readonly #untold = new Map<EvictionListener, number>()
  #timer: NodeJS.Timeout | undefined

  add(): void {
    if (this.#untold.size === 0) return
    for (const [listener, subjects] of this.#untold) this.#untold.set(listener, subjects + 1)
    // The timer does not keep the process alive. A listener gets the rest when it stops listening.
    this.#timer ??= setTimeout(() => this.#tellAll(), REPORTED_EVERY_MS).unref()
  }

  observe(listener: EvictionListener): () => void {
    // A new object as the map's key, since the same listener may be passed twice.
    const own: EvictionListener = { onEvicted: (subjects) => listener.onEvicted(subjects) }
    this.#untold.set(own, 0)
    return () => {
      this.#tell(own)
      this.#untold.delete(own)
      if (this.#untold.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
  }

  #tellAll(): void {
    this.#timer = undefined
    for (const listener of this.#untold.keys()) this.#tell(listener)
  }

  #tell(listener: EvictionListener): void {
    const subjects = this.#untold.get(listener) ?? 0
    if (subjects === 0) return
    this.#untold.set(listener, 0)
    listener.onEvicted(subjects)
  }
}
