import { setTimeout as sleep } from 'node:timers/promises'

const WITHIN_MS = 30_000
const EVERY_MS = 10

/**
 * An answer within this time, in ms, cannot have waited for a Redis that is gone. The time is long, so that a busy
 * machine breaks no test. `npm run faults` and the benchmarks measure how fast answers really are.
 */
export const SOON_MS = 5000

/**
 * Calls `isSo` again and again until the condition holds: a test waits for a condition, never for a time. With an
 * assertion, such as `() => expect(calls).toBe(3)`, the final error says which value there was instead.
 *
 * @param isSo returns `false` or throws while the condition does not hold yet
 * @param what the condition in words, for the error
 * @throws     when the condition does not hold within 30 s
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
