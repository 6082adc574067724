// For law 8: a store that one test has for itself, and limits that end soon.
import { testPrefix } from '@tollgate/testing'
import { redisStore, type LimitInput } from '../../src/index.js'
import type { Store } from '../../src/stores/contract.js'
import { sharedRedis, START_MS } from './benches.js'

/** A store on a test's clock, and the size of the only key that it has written. */
export function storeOfOneKey(): { store: Store; clock: { now: number }; size: () => Promise<number> } {
  const prefix = testPrefix()
  const clock = { now: START_MS }
  const store = redisStore(sharedRedis(), { prefix, now: () => clock.now })
  const size = async (): Promise<number> => {
    const [key] = await sharedRedis().keys(`${prefix}/[^!]*`)
    return key === undefined ? 0 : sharedRedis().strlen(key)
  }
  return { store, clock, size }
}

/** One limit of each algorithm, and how long its units live at most. */
export const shortLimits: readonly (readonly [name: string, limit: LimitInput, longestMs: number])[] = [
  ['sliding-log', '5/200ms', 200],
  ['fixed-window', { quota: 5, window: 200, algorithm: 'fixed-window' }, 200],
  ['token-bucket', { quota: 5, window: 200, algorithm: 'token-bucket' }, 201],
  ['sliding-window', { quota: 5, window: 100, algorithm: 'sliding-window' }, 200],
]
