// What the usage of a customer shows where a request takes several steps, and denials are remembered.
import { testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Limiter } from '../../src/index.js'
import { internalsOf } from '../../src/limiter/internals.js'
import { closeBenches, sharedRedis } from '../support/benches.js'
import { clusterStore } from '../support/shards.js'

let limiter: Limiter | undefined
afterEach(() => limiter?.close())
afterAll(closeBenches)

test('all limits are shown, also those of steps that another one denies', async () => {
  const store = clusterStore()
  limiter = createLimiter({
    plans: {
      org: ['100/min', '1000/month'],
      user: { limits: { quota: 2, window: 'h', algorithm: 'fixed-window' } },
    },
    defaultPlan: 'org',
    store,
    warnings: false,
  })
  const users = Array.from({ length: 8 }, (_, i) => ({ id: `user-${i}`, plan: 'user', label: 'user' }))
  const shown = await Promise.all(
    users.map(async (user) => {
      const subjects = [{ id: `org of ${user.id}`, plan: 'org' }, user] as const
      for (let i = 0; i < 3; i += 1) await limiter!.consume(subjects)
      const { limits, decision } = await internalsOf(limiter!).look(limiter!, subjects)
      return [decision.allowed, limits.map(({ name, used }) => `${name} ${used}`)]
    }),
  )
  for (const one of shown) expect(one).toEqual([false, ['minute 2', 'month 2', 'user.hour 2']])
})

test('on Redis, what a customer has used stays what it is while denials block it', async () => {
  const blockAfter = { denials: 2, within: '1min', for: ['5min'] }
  const hour = { quota: 2, window: 'h', algorithm: 'fixed-window' }
  limiter = createLimiter({
    plans: { free: { limits: [hour, '1000/month'], blockAfter } },
    defaultPlan: 'free',
    store: redisStore(sharedRedis(), { prefix: testPrefix() }),
    ...{ warnings: false, denials: false, deadlineMs: 30_000 },
  } as never)
  for (let i = 0; i < 5; i += 1) await limiter.consume('acme')
  const { limits, decision } = await internalsOf(limiter).look(limiter, [{ id: 'acme' }])
  expect(decision.reason).toBe('blocked')
  expect(limits).toMatchObject([
    { used: 2, remaining: 0 },
    { used: 2, remaining: 998 },
  ])
})
