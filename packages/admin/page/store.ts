import { useEffect, useState } from 'preact/hooks'

/** A value that parts of the page follow. */
export class Store<T> {
  #value: T
  readonly #followers = new Set<() => void>()

  constructor(value: T) {
    this.#value = value
  }

  get value(): T {
    return this.#value
  }

  set(value: T): void {
    this.#value = value
    for (const follow of this.#followers) follow()
  }

  follow(follower: () => void): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }
}

export function useStore<T>(store: Store<T>): T {
  const [, setValue] = useState(store.value)
  useEffect(() => {
    setValue(store.value)
    return store.follow(() => setValue(store.value))
  }, [store])
  return store.value
}
