import type { Store } from '../stores/contract.js'

interface Waiting {
  send(): void
  fail(error: unknown): void
}

/**
 * Where calls wait for a store to be ready. Not on its promise itself: what waits there cannot leave at its deadline,
 * and would be held for as long as the store is down.
 */
export class ReadyQueue {
  readonly #store: Store
  readonly #waiting = new Set<Waiting>()
  #becoming: Promise<void> | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** Sends the call now, or once the store is ready. */
  enter(call: Waiting): void {
    let ready
    try {
      ready = this.#store.ready?.()
    } catch (error) {
      call.fail(error)
      return
    }
    if (!ready) {
      call.send()
      return
    }
    this.#waiting.add(call)
    if (this.#becoming === ready) return
    this.#becoming = ready
    ready.then(
      () => this.#release(ready, (waiting) => waiting.send()),
      (error: unknown) => this.#release(ready, (waiting) => waiting.fail(error)),
    )
  }

  leave(call: Waiting): void {
    this.#waiting.delete(call)
  }

  #release(ready: Promise<void>, go: (waiting: Waiting) => void): void {
    if (this.#becoming === ready) this.#becoming = undefined
    const released = [...this.#waiting]
    this.#waiting.clear()
    for (const waiting of released) go(waiting)
  }
}
