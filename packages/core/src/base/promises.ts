import { attempt } from './show.js'

/** A value, or a promise of it. `await` works for both. */
export type MaybePromise<T> = T | Promise<T>

/** Whether it is a promise of any library: whether it has a method `then`. */
export function isPromise<T>(value: MaybePromise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | null | undefined)?.then === 'function'
}

/** Calls `next` with the value: at once if it is known, without making a promise, else when it resolves. */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  // Some objects have a `then` that does not return a promise, such as Fastify's reply. Promise.resolve makes it one.
  return isPromise(value) ? Promise.resolve(value).then(next) : next(value)
}

/** At most this many properties of a value are searched for promises. A value given by mistake has fewer. */
const MOST = 100

/**
 * Silences the promises in a value that is refused. Nothing awaits them, and an unhandled rejection would end the
 * process. Looks at the value itself, the elements of a list, and own properties of both.
 */
export function quiet(given: unknown): void {
  attempt(() => silenceIn(given, Array.isArray(given) ? 2 : 1), undefined)
}

/** The same for the elements of a list alone. Fast enough for every request. */
export function quietEach(given: unknown): void {
  if (!Array.isArray(given)) return
  for (const one of given as unknown[]) {
    // Not by `attempt`: a closure for each would cost more than the rest.
    try {
      silence(one)
    } catch {
      // It has a `then` that throws.
    }
  }
}

/** @param depth how many levels of properties to search */
function silenceIn(given: unknown, depth: number): void {
  if (typeof given !== 'object' || given === null || silence(given) || depth === 0) return
  for (const name of Object.keys(given).slice(0, MOST)) {
    // A getter is not called: it could do anything.
    const held: unknown = Object.getOwnPropertyDescriptor(given, name)?.value
    attempt(() => silenceIn(held, depth - 1), undefined)
  }
}

/** Returns whether it was a promise. */
function silence(given: unknown): boolean {
  if (typeof given !== 'object' || given === null) return false
  const { then } = given as { readonly then?: unknown }
  if (typeof then !== 'function') return false
  then.call(given, ignore, ignore)
  return true
}

function ignore(): void {}
