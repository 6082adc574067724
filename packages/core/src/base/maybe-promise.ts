/** A value that is known already, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** Whether it has a `then`, and so counts as a promise of any library. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** Calls `next` with the value: at once if it is known, so that no promise is made; else when it resolves. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  // Some objects have a `then` that does not return a promise, such as Fastify's reply. Promise.resolve makes it one.
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}
