// What a script does not know, a process of the application says: where a subject stands, and which plans there are.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  readPlans,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../../src/index.js'
import type { Board } from '../../../src/stores/board.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { closesWithTest, endFaults } from '../../support/faults.js'

afterEach(endFaults)
afterAll(closeBenches)

const plans = { free: ['4/min', '1000/d'], pro: '3000/min' }
const planOf = ({ id }: { id: string | number }): string => (id === 'acme' ? 'pro' : 'free')

function make(store: Store, options: object = {}): Limiter {
  const given = { plans, defaultPlan: 'free', store, warnings: false, deadlineMs: 10_000, ...options }
  return closesWithTest(createLimiter(given as LimiterOptions))
}

async function use(limiter: Limiter, id: string, times: number, plan?: string): Promise<void> {
  for (let i = 0; i < times; i += 1) await limiter.consume({ id, ...(plan && { plan }) })
}

/** The application, and a script on the same Redis. */
function two(options: object = {}, ofScript: object = {}): [app: Limiter, script: Limiter] {
  const prefix = testPrefix()
  const store = (): Store => redisStore(redisOfAnotherProcess(), { prefix })
  const app = make(store(), { plans, planOf, ...options })
  return [app, make(store(), { plans: { any: '1/s' }, defaultPlan: 'any', traffic: false, ...ofScript })]
}

test('where a subject stands, by the plan that only the application knows', async () => {
  const [app, script] = two()
  await app.consume('acme', { cost: 300 })
  await use(app, 'globex', 4)
  expect(await script.inspect('acme')).toMatchObject({
    ...{ plan: 'pro', allowed: true, violated: [], retryAfterMs: 0 },
    limits: [{ name: 'minute', quota: 3000, used: 300, remaining: 2700 }],
  })
  const globex = await script.inspect({ id: 'globex' })
  expect(globex).toMatchObject({
    plan: 'free',
    allowed: false,
    violated: ['minute'],
    reason: 'quota-exceeded',
  })
  // The application needs to ask nobody.
  expect(await app.inspect('acme')).toMatchObject({ plan: 'pro', limits: [{ used: 300 }] })
  await app.block('acme', { for: '1h', reason: 'abuse' })
  expect((await script.inspect('acme')).block).toMatchObject({
    of: 'acme',
    reason: 'abuse',
    until: expect.any(Date),
  })
})

test('which of its units are held: in line, reserved or on lease', async () => {
  const day = { quota: 1000, window: '1d', algorithm: 'fixed-window' }
  const plans = {
    line: { limits: ['30/min burst 1', day], wait: { maxDelay: '1min' } },
    // What is watched is not shown, so it must not shift the others.
    reserves: { limits: [{ ...day, watch: 900 }, '5 concurrent'] },
    leases: { limits: { ...day, quota: 100_000 }, lease: true },
  }
  const [app, script] = two({ plans, planOf: ({ id }: { id: string }) => id, defaultPlan: 'line' })
  const heldBy = async (id: string): Promise<unknown> =>
    (await script.inspect(id)).limits.map(({ name, used, held }) => [name, used, held])
  const waiting = Array.from({ length: 6 }, () => app.consume('line'))
  await eventually(() => app.stats().waiting.now === 5)
  const [, [name, , held] = []] = (await heldBy('line')) as [string, number, number][]
  expect(name).toBe('day')
  expect(held).toBeGreaterThan(0)
  expect(held).toBeLessThanOrEqual(5)
  const reservation = await app.reserve('reserves', { cost: 30, for: '10min' })
  const inFlight = ['concurrent', expect.any(Number), undefined]
  expect(await heldBy('reserves')).toEqual([['day', 30, 30], inFlight])
  await reservation.commit(12)
  expect(await heldBy('reserves')).toEqual([['day', 12, undefined], inFlight])
  await eventually(async () => {
    await Promise.all(Array.from({ length: 30 }, () => app.consume('leases')))
    const [state] = (await app.inspect('leases')).limits
    return (state?.held ?? 0) > 0 && (state?.used ?? 0) >= (state?.held ?? 0)
  })
  expect((await Promise.all(waiting)).every(({ allowed }) => allowed)).toBe(true)
  expect(await heldBy('line')).toEqual([
    ['minute', expect.any(Number), undefined],
    ['day', 6, undefined],
  ])
})

test('a plan that planOf cannot say is only the default one, also for who asks from outside', async () => {
  let isDown = true
  const planOf = (): string => {
    if (isDown) throw new Error('no database')
    return 'free'
  }
  const [app, script] = two({ planOf })
  const seen: unknown[] = []
  for (const state of [true, false]) {
    isDown = state
    for (const one of [app, script]) seen.push((await one.inspect('acme')).isDefaultPlan)
  }
  expect(seen).toEqual([true, true, undefined, undefined])
})

test('whether it is only the default plan, since requests can name another', async () => {
  const [app, script] = two({ planOf: undefined })
  for (const one of [app, script]) {
    expect(await one.inspect('acme')).toMatchObject({ plan: 'free', isDefaultPlan: true })
    const named = await one.inspect({ id: 'acme', plan: 'pro' })
    expect([named.plan, 'isDefaultPlan' in named]).toEqual(['pro', false])
  }
  const [, other] = two()
  expect('isDefaultPlan' in (await other.inspect('globex'))).toBe(false)
  const [, simple] = two({ plans: undefined, defaultPlan: undefined, planOf: undefined, limit: '5/min' })
  const inspection = await simple.inspect('acme')
  expect([inspection.plan, 'isDefaultPlan' in inspection]).toEqual(['default', false])
})

test('one of several processes answers', async () => {
  const prefix = testPrefix()
  let answers = 0
  const limiterOf = (options: object): Limiter => {
    const store = redisStore(redisOfAnotherProcess(), { prefix })
    const board = store.board as { put: Board['put'] }
    const put = board.put.bind(board)
    board.put = (topic, ...given) => {
      if (topic.startsWith('answers')) answers += 1
      return put(topic, ...given)
    }
    return make(store, options)
  }
  const apps = [1, 2, 3].map(() => limiterOf({ planOf }))
  const script = limiterOf({ traffic: false })
  for (const app of apps) await eventually(() => app.health().rules === 'current')
  for (let i = 0; i < 3; i += 1) expect((await script.inspect('acme')).plan).toBe('pro')
  expect(answers).toBe(3)
})

test('what failed there is said, and that nobody answered', async () => {
  const [, script] = two({ plans: { a: '1/s', b: '2/s' }, defaultPlan: 'a', planOf: undefined })
  await expect(script.inspect({ id: 'acme', anchor: 'no day' })).rejects.toMatchObject({
    code: 'ERR_TOLLGATE_PLAN',
    message: expect.stringContaining('the process that answered failed: subject.anchor: got'),
  })
  const alone = make(redisStore(redisOfAnotherProcess(), { prefix: testPrefix() }), { traffic: false })
  await expect(alone.inspect('acme')).rejects.toMatchObject({
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
    message: expect.stringContaining('no process of this limiter answered'),
  })
})

test('no id gets into the store with hashIds, and none that is too long', async () => {
  const hashIds = 'a secret of more than 16 characters'
  const [, script] = two({ hashIds }, { hashIds })
  await expect(script.inspect('acme')).rejects.toThrow('subject: with hashIds no other process can be asked')
  await expect(two()[1].inspect('x'.repeat(3000))).rejects.toThrow('subject: its id is too long')
  await expect(script.inspect('')).rejects.toMatchObject({ code: 'ERR_TOLLGATE_SUBJECT' })
})

test('the plans of the application make a limiter with the same counters', async () => {
  const prefix = testPrefix()
  const store = (): Store => redisStore(redisOfAnotherProcess(), { prefix })
  const given = {
    pro: { quota: 9, window: 'month', anchor: new Date('2026-01-31T09:00:00Z') },
    free: '4/min',
  }
  const app = make(store(), { name: 'api', plans: given, defaultPlan: 'free' })
  await use(app, 'acme', 3, 'pro')
  await app.traffic()
  const read = await readPlans(store(), { name: 'api' })
  expect(read).toEqual({ plans: given, defaultPlan: 'free' })
  const script = make(store(), { name: 'api', traffic: false, ...read })
  expect((await script.peek({ id: 'acme', plan: 'pro' })).limits).toMatchObject([{ quota: 9, used: 3 }])
  app.setPlans({ basic: '5/min' }, { defaultPlan: 'basic' })
  await app.traffic()
  expect(await readPlans(store(), { name: 'api' })).toEqual({
    plans: { basic: '5/min' },
    defaultPlan: 'basic',
  })
  expect(await readPlans(store())).toBeUndefined()
  await expect(readPlans(store(), { name: '' })).rejects.toThrow("name: got ''")
  await expect(readPlans({} as Store)).rejects.toThrow('store')
})
