/** Far longer than any deadline, even on a slow machine, in ms: a later answer counts as none. */
export const ANSWERED_WITHIN_MS = 8000

/** Law 9 is broken: a call got no answer. Ends a play. */
export class NoAnswer extends Error {}

/** Resolves like the promise. @throws {NoAnswer} when it takes too long */
export function answered<T>(asked: T | PromiseLike<T>, what: string): T | Promise<T> {
  if (!isPromise(asked)) return asked
  return new Promise((resolve, reject) => {
    const message = `${what} was not answered within ${ANSWERED_WITHIN_MS} ms`
    const timer = setTimeout(() => reject(new NoAnswer(message)), ANSWERED_WITHIN_MS)
    asked.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error as Error)
      },
    )
  })
}

function isPromise<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | undefined)?.then === 'function'
}
