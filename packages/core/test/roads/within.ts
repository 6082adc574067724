/** Far more than any deadline, also on a slow machine: an answer that takes this long is none. */
export const ANSWERED_WITHIN_MS = 8000

/** Law 9 is broken: what was asked is not answered. Ends a play. */
export class NoAnswer extends Error {}

/** What a promise gives. @throws {NoAnswer} when it takes too long */
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
