// Stores whose clock a test sets by dates.
import { testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore, type Store } from '../../src/index.js'
import { sharedRedis, type Clock } from './benches.js'

export const clock: Clock = { now: 0 }
const now = (): number => clock.now

/** Sets the clock. */
export const on = (date: string): void => void (clock.now = Date.parse(date))

/** Makes each kind of store anew, by its name. */
export const datedStores: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore({ now }),
  Redis: () => redisStore(sharedRedis(), { prefix: testPrefix(), now }),
}
