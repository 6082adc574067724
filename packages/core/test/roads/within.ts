import { setTimeout as sleep } from 'node:timers/promises'

/** Far more than any deadline of a limiter that a play does not fail, also on a slow machine. A later answer counts as no answer. */
export const ANSWERED_WITHIN_MS = 30_000

/** Thrown when there is no answer in time. It breaks law 9 and ends a play. */
export class NoAnswer extends Error {}

/** Returns `asked`, or a promise that rejects with NoAnswer when `asked` takes too long. */
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

const QUIET_WITHIN_MS = 30_000

/** Waits for a condition, but does not throw when time is up: the check that follows says what is wrong. */
export async function eventually(
  isSo: () => boolean | Promise<boolean>,
  withinMs = QUIET_WITHIN_MS,
): Promise<void> {
  for (const until = performance.now() + withinMs; performance.now() < until; await sleep(10)) {
    if (await isSo()) return
  }
}
