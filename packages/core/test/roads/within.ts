/** Far more than any deadline, also on a slow machine: an answer that takes this long is none. */
export const ANSWERED_WITHIN_MS = 8000

/** Law 9 is broken: what was asked is not answered. Ends a play. */
export class NoAnswer extends Error {}

/** What a promise gives. @throws {NoAnswer} when it takes too long */
export async function answered<T>(asked: T | PromiseLike<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const message = `${what} was not answered within ${ANSWERED_WITHIN_MS} ms`
    timer = setTimeout(() => reject(new NoAnswer(message)), ANSWERED_WITHIN_MS)
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}
