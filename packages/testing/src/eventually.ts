import { setTimeout as sleep } from 'node:timers/promises'

const WITHIN_MS = 30_000
const EVERY_MS = 10

/**
 * In ms. A working store answers sooner on any machine; a request that waits for a dead Redis takes longer. `npm run
 * faults` and the benchmarks judge how fast answers are, on a quiet machine.
 */
export const SOON_MS = 5000

/**
 * Repeats a check until it holds: tests wait for a condition, never for a time. A failing assertion counts as not yet,
 * so with `() => expect(calls).toBe(3)` the final error says what the value was.
 *
 * @param isSo `false` or any error means not yet
 * @param what the condition in words, for the error
 * @throws     when it does not hold within 30 s, far longer than a slow machine needs
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
