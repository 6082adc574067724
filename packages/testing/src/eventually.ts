import { setTimeout as sleep } from 'node:timers/promises'

const WITHIN_MS = 30_000
const EVERY_MS = 10

/**
 * No answer takes as long on a machine that does anything else at all, and one that waits for a Redis that is gone does.
 * How soon answers come is judged by `npm run faults` and the benchmarks, on a machine of their own.
 */
export const SOON_MS = 5000

/**
 * Asks again and again until it is so: tests wait for what they need, never for a time. An assertion that fails counts
 * as not yet, so `() => expect(calls).toBe(3)` says at the end what was there instead.
 *
 * @param isSo `false`, and whatever is thrown, means not yet
 * @param what in words, for the error
 * @throws     when it is not so within half a minute, which no machine is slow enough for
 */
export async function eventually(
  isSo: () => boolean | void | Promise<boolean | void>,
  what = String(isSo),
): Promise<void> {
  let last: unknown
  for (const end = performance.now() + WITHIN_MS; performance.now() < end; await sleep(EVERY_MS)) {
    try {
      if ((await isSo()) !== false) return
      last = undefined
    } catch (error) {
      last = error
    }
  }
  const why = last instanceof Error ? `\n${last.message}` : ''
  throw new Error(`not within ${WITHIN_MS} ms: ${what}${why}`, { cause: last })
}
