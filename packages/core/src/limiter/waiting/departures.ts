interface Watched {
  readonly leave: Set<() => void>
  readonly listener: () => void
}

/**
 * Which requests leave when a signal aborts. Many can share a signal, such as one for a shutdown. So each signal has one
 * listener: with more than ten, Node would warn of a leak.
 */
export class Departures {
  readonly #watched = new Map<AbortSignal, Watched>()

  add(signal: AbortSignal, leave: () => void): void {
    const known = this.#watched.get(signal)
    if (known) {
      known.leave.add(leave)
      return
    }
    const all = new Set([leave])
    const listener = (): void => {
      this.#watched.delete(signal)
      for (const one of all) one()
    }
    this.#watched.set(signal, { leave: all, listener })
    signal.addEventListener('abort', listener, { once: true })
  }

  remove(signal: AbortSignal, leave: () => void): void {
    const known = this.#watched.get(signal)
    if (!known?.leave.delete(leave) || known.leave.size > 0) return
    this.#watched.delete(signal)
    signal.removeEventListener('abort', known.listener)
  }
}
