import type { Store } from '@tollgate/core/store'

/** A clock that runs, and that a test sets ahead. */
export class Clock {
  #ahead = 0
  readonly now = (): number => Date.now() + this.#ahead

  pass(ms: number): void {
    this.#ahead += ms
  }
}

/** Gives each store a clock of its own. */
export class Clocks {
  readonly #clocks = new WeakMap<Store, Clock>()

  readonly make = <S extends Store>(make: (now: () => number) => S): S => {
    const clock = new Clock()
    const store = make(clock.now)
    this.#clocks.set(store, clock)
    return store
  }

  readonly passTime = (store: Store, ms: number): void => this.#clocks.get(store)?.pass(ms)
}
