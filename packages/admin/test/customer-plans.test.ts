// Which plan a customer has where nobody says it, and when it was refused.
import { createLimiter, memoryStore } from '@tollgate/core'
import { refusalsReport } from '../src/reports/refusals.js'
import { asking, open, PLANS } from './asking.js'

test('the plan of a customer that nobody has seen lately is the one on which it has used units', async () => {
  const plans = { free: ['5/h'], pro: ['10/s', '100/d'], large: ['20/s', '100/d'] } as const
  const { limiter, get } = asking({ plans, defaultPlan: 'free', store: memoryStore(), traffic: false })
  await limiter.consume({ id: 'acme', plan: 'free' })
  expect(await get('subject?id=acme')).toMatchObject({ plan: 'free', planFrom: 'counts' })
  // Limits of equal windows count together, so that both plans fit.
  await limiter.consume({ id: 'globex', plan: 'pro' })
  expect(await get('subject?id=globex')).toMatchObject({ plan: 'free', planFrom: 'default' })
})

test('while planOf fails, nobody says that the application knows the plan, and nothing is booked on another one', async () => {
  const plans = { free: { quota: 50, window: 'month' }, pro: { quota: 100, window: 'month' } } as const
  const planOf = (): never => {
    throw new Error('no database')
  }
  const { limiter, get, change } = asking({ plans, defaultPlan: 'free', planOf, store: memoryStore() })
  const topUp = { kind: 'topUp', limit: 'month', units: 5, key: 'order-7' } as const
  await expect(change({ ...topUp, id: 'globex' })).rejects.toThrow(/^400.*planOf failed: no database/)
  expect(await get('subject?id=globex')).toMatchObject({ planFrom: 'default' })
  await limiter.consume({ id: 'acme', plan: 'pro' })
  expect(await get('subject?id=acme')).toMatchObject({ plan: 'pro', planFrom: 'requests' })
})

test('a group is no plan', async () => {
  const plans = { free: '5/h', pro: '50/d' }
  const { limiter, get } = asking({ plans, defaultPlan: 'free', store: memoryStore() })
  await limiter.consume({ id: 'acme', plan: 'pro' })
  const group = limiter.scope({ group: 'login', limit: '3/d' })
  for (let i = 0; i < 4; i += 1) await group.consume('acme')
  expect(await get('subject?id=acme')).toMatchObject({ plan: 'pro', planFrom: 'counts' })
})

test('a record of several minutes is spread over them, and keeps its sum', async () => {
  const limiter = createLimiter({ ...PLANS, store: memoryStore(), warnings: false })
  open.push(() => limiter.close())
  const nowMs = Date.now()
  const minute = (ago: number): Date => new Date(nowMs - ago * 60_000)
  const record = {
    subject: 'acme',
    plan: 'free',
    reason: 'quota-exceeded',
    source: 'store',
    cost: 1,
    waitMs: 1,
  }
  const denials = [
    { ...record, limit: 'hour', first: minute(9), last: minute(0), count: 25 },
    { ...record, limit: 'day', first: minute(3), last: minute(3), count: 7 },
    // Of somebody else: no record of ours is so long.
    { ...record, limit: 'month', first: new Date(0), last: minute(2), count: 65 },
  ]
  jest.spyOn(limiter, 'denialLog').mockResolvedValue({ from: minute(1440), denials } as never)
  const { causes, minutes } = await refusalsReport(limiter)
  const countsOf = (cause: string): number[] =>
    minutes.map(({ counts }) => counts[causes.indexOf(cause)] as number)
  expect(countsOf('hour').slice(-10)).toEqual([2, 3, 2, 3, 2, 3, 2, 3, 2, 3])
  expect(countsOf('hour').slice(0, -10)).toEqual(Array.from({ length: 50 }, () => 0))
  expect(countsOf('day').slice(-5)).toEqual([0, 7, 0, 0, 0])
  expect(countsOf('month').slice(-4)).toEqual([1, 1, 0, 0])
})
