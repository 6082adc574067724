import type { Store } from '../../stores/contract.js'

interface Waiting {
  send(): void
  fail(error: unknown): void
}

/**
 * Holds calls while a store is not ready. They do not wait on the store's promise itself: a promise keeps its
 * callbacks, so calls that have reached their deadline would stay in memory while the store is down.
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
