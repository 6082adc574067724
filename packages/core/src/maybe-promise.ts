/** A value where it is known, else a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** Whether it is a promise, of whatever make. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** `next` on the value now, or when it is there: no promise where none is needed. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return isPromise(value) ? value.then(next) : next(value)
}
