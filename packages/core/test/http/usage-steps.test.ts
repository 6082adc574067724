// What the usage of a customer shows where a request takes several steps, and denials are remembered.
import { createLimiter, type Limiter } from '../../src/index.js'
import { internalsOf } from '../../src/limiter/internals.js'
import { clusterStore } from '../support/shards.js'

let limiter: Limiter | undefined
afterEach(() => limiter?.close())

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
