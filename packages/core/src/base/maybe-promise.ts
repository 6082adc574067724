/** A value where it is known, else a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** Whether it is a promise, of whatever make. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** `next` on the value now, or when it is there: no promise where none is needed. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  // What only looks like one may not return a promise from its `then`, such as a reply of Fastify.
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
