import { type LimitOptions, createLimiter, memoryStore } from '../../src/index.js'
import type { LimitState } from '../../src/limiter/decision/decision.js'

const WINDOW_MS = 60_000
const limits: [string, LimitOptions, capacity: number][] = [
  ['sliding-log', { quota: 10, window: WINDOW_MS, algorithm: 'sliding-log' }, 10],
  ['sliding-window', { quota: 10, window: WINDOW_MS, algorithm: 'sliding-window' }, 10],
  ['fixed-window', { quota: 10, window: WINDOW_MS, algorithm: 'fixed-window' }, 10],
  ['fixed-window on the calendar', { quota: 10, window: 'd', timeZone: 'UTC' }, 10],
  ['token-bucket', { quota: 10, window: WINDOW_MS, algorithm: 'token-bucket' }, 10],
  ['token-bucket with a larger burst', { quota: 10, window: WINDOW_MS, burst: 25 }, 25],
  ['token-bucket with a smaller burst', { quota: 10, window: WINDOW_MS, burst: 4 }, 4],
]

describe.each(limits)('used, of a %s', (_, limit, capacity) => {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const limiter = createLimiter({
    plans: { big: limit, small: { ...limit, quota: 2, ...(limit.burst && { burst: 2 }) } },
    store: memoryStore({ now: () => clock.now }),
  })
  const consume = async (id: string, cost: number, plan = 'big'): Promise<LimitState> =>
    (await limiter.consume({ id, plan }, { cost })).limits[0] as LimitState

  test('is what was taken, and with what remains all there is', async () => {
    for (let taken = 1; taken <= capacity; taken += 1) {
      expect(await consume('a', 1)).toMatchObject({ used: taken, remaining: capacity - taken })
    }
    expect(await consume('a', 1)).toMatchObject({ used: capacity, remaining: 0 })
  })

  test('goes down as units come back, to 0', async () => {
    const { used } = await consume('b', 3)
    expect(used).toBe(3)
    clock.now += 86_400_000
    const { limits: states } = await limiter.peek({ id: 'b', plan: 'big' })
    expect(states).toMatchObject([{ used: 0, remaining: capacity }])
  })

  test('is never above the quota or burst, also after a move to a smaller plan', async () => {
    await consume('c', capacity)
    expect(await consume('c', 1, 'small')).toMatchObject({ used: 2, remaining: 0 })
  })
})
