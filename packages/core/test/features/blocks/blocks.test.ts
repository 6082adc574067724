// The plan option `blockAfter`: how denials begin a block, how long it lasts, and what ends it.
import { createLimiter, type Decision, type Limiter, type SubjectBlocked } from '../../../src/index.js'
import { amend, inMemory, onRedis } from '../../support/amend.js'
import { benches, closeBenches, START_MS, type Clock } from '../../support/benches.js'

afterAll(closeBenches)

const MIN = 60_000
const blockAfter = { denials: 3, within: '1min', for: ['1min', '15min', '1h'] } as const
const plans = { free: { limits: '2/min', blockAfter }, pro: '2/min' } as const
const acme = { id: 'acme', plan: 'free' }

async function consume(limiter: Pick<Limiter, 'consume'>, times: number, id = 'acme'): Promise<Decision[]> {
  const all: Decision[] = []
  for (let i = 0; i < times; i += 1) all.push(await limiter.consume({ id, plan: 'free' }))
  return all
}

const reasons = (decisions: readonly Decision[]): unknown[] =>
  decisions.map(({ allowed, reason }) => (allowed ? 'allowed' : reason))

describe.each(benches)('denials block a subject, on $store', ({ store, limiter: make }) => {
  const start = (options = {}): { limiter: Limiter; clock: Clock; blocked: SubjectBlocked[] } => {
    const clock = { now: START_MS }
    const blocked: SubjectBlocked[] = []
    const limiter = make({ plans, defaultPlan: 'pro', ...options }, clock)
    limiter.on('blocked', (one) => void blocked.push(one))
    return { limiter, clock, blocked }
  }
  /** Uses up the quota, and is denied until a block begins. */
  const block = async (limiter: Limiter): Promise<Decision> => {
    const all = await consume(limiter, 5)
    expect(reasons(all)).toEqual(['allowed', 'allowed', 'quota-exceeded', 'quota-exceeded', 'blocked'])
    return all[4] as Decision
  }

  test('the denial that is enough begins the block, is told so, and emits the event once', async () => {
    const { limiter, clock, blocked } = start()
    const decision = await block(limiter)
    expect(decision).toMatchObject({
      retryAfterMs: MIN,
      source: 'store',
      violated: [],
      limits: [{ name: 'minute', remaining: 0, resetMs: MIN }],
    })
    expect(new Set(reasons(await consume(limiter, 9)))).toEqual(new Set(['blocked']))
    expect(blocked).toEqual([
      { subject: acme, plan: 'free', place: undefined, until: clock.now + MIN, level: 1 },
    ])
  })

  test('a client that waits as long as it was told is admitted, one that comes earlier is not', async () => {
    const { limiter, clock } = start()
    const { retryAfterMs } = await block(limiter)
    clock.now += (retryAfterMs as number) - 1
    expect((await limiter.consume(acme)).reason).toBe('blocked')
    expect((await limiter.peek(acme)).reason).toBe('blocked')
    clock.now += 1
    expect((await limiter.consume(acme)).allowed).toBe(true)
  })

  test('a block that is over before the limit has room tells the wait for the limit', async () => {
    const short = { denials: 1, within: '1min', for: ['10s'] }
    const { limiter, clock } = start({ plans: { free: { limits: '2/min', blockAfter: short }, pro: '9/h' } })
    await consume(limiter, 2)
    clock.now += 1000
    expect(await limiter.consume(acme)).toMatchObject({ reason: 'blocked', retryAfterMs: MIN - 1000 })
    clock.now += 10_000
    expect((await limiter.peek(acme)).reason).toBe('quota-exceeded')
    clock.now += MIN - 11_000
    expect((await limiter.peek(acme)).allowed).toBe(true)
  })

  test('fewer denials within the time block nobody, however long they go on', async () => {
    const { limiter, clock } = start()
    for (let i = 0; i < 8; i += 1) {
      expect(reasons(await consume(limiter, 4))).not.toContain('blocked')
      clock.now += MIN
    }
  })

  test('each block is longer than the one before, and the last length repeats', async () => {
    const { limiter, clock, blocked } = start()
    for (const length of [MIN, 15 * MIN, 60 * MIN, 60 * MIN]) {
      expect((await block(limiter)).retryAfterMs).toBe(length)
      clock.now += length
    }
    expect(blocked.map(({ level }) => level)).toEqual([1, 2, 3, 4])
  })

  test('after the longest time without a block, the first length comes again, whatever was denied meanwhile', async () => {
    const { limiter, clock } = start()
    await block(limiter)
    clock.now += MIN + 58 * MIN
    await consume(limiter, 4)
    clock.now += 2 * MIN - 1
    expect((await block(limiter)).retryAfterMs).toBe(15 * MIN)
    clock.now += 15 * MIN + 58 * MIN
    await consume(limiter, 4)
    clock.now += 2 * MIN
    expect((await block(limiter)).retryAfterMs).toBe(MIN)
  })

  test('a refund does not end a block, and a reset does', async () => {
    const { limiter } = start()
    const [first] = await consume(limiter, 5)
    expect(await limiter.refund(first as Decision)).toBe(true)
    expect((await limiter.peek(acme)).reason).toBe('blocked')
    await limiter.reset(acme)
    await block(limiter)
  })

  test('a plan without the option does not block, and the block is kept meanwhile', async () => {
    const { limiter, clock } = start()
    await block(limiter)
    expect(await limiter.consume({ id: 'acme', plan: 'pro' })).toMatchObject({ reason: 'quota-exceeded' })
    clock.now += 40_000
    expect((await limiter.peek(acme)).retryAfterMs).toBe(20_000)
    limiter.setPlans({
      ...plans,
      free: { limits: '2/min', blockAfter: { denials: 1, within: '2s', for: ['2s'] } },
    })
    expect((await limiter.peek(acme)).retryAfterMs).toBe(20_000)
    limiter.setPlans({ ...plans, free: { limits: '9/h', blockAfter } })
    expect((await limiter.peek(acme)).retryAfterMs).toBe(20_000)
  })

  test('a plan with another number counts the denials of before', async () => {
    const { limiter } = start()
    await consume(limiter, 4)
    limiter.setPlans({
      ...plans,
      free: { limits: '2/min', blockAfter: { denials: 3, within: '5min', for: ['1h'] } },
    })
    expect(await limiter.consume(acme)).toMatchObject({ reason: 'blocked', retryAfterMs: 60 * MIN })
  })

  test('it holds for the key whose denials it counts: not for a group with counters of its own', async () => {
    const { limiter, blocked } = start()
    const group = limiter.scope({ group: 'search' })
    await block(limiter)
    expect(reasons(await consume(group, 5)).slice(-2)).toEqual(['quota-exceeded', 'blocked'])
    expect(blocked.map(({ place }) => place)).toEqual([undefined, 'search'])
    await limiter.reset(acme)
    expect((await group.peek(acme)).allowed).toBe(true)
  })

  test('requests in flight that are too many do not count', async () => {
    const { limiter } = start({
      plans: { free: { limits: ['9/min', '1 concurrent'], blockAfter: { ...blockAfter, denials: 1 } } },
      defaultPlan: 'free',
    })
    const [first, ...rest] = await consume(limiter, 4)
    expect(reasons(rest)).toEqual(['quota-exceeded', 'quota-exceeded', 'quota-exceeded'])
    first?.release()
    expect(await limiter.consume(acme)).toMatchObject({ allowed: true })
  })

  test('a reservation is denied by a block, and its denial counts', async () => {
    const { limiter, clock } = start()
    await consume(limiter, 4)
    const held = await limiter.reserve(acme, { cost: 1, for: '1min' })
    expect(held).toMatchObject({ allowed: false, decision: { reason: 'blocked', retryAfterMs: MIN } })
    clock.now += MIN
    expect((await limiter.reserve(acme, { cost: 1, for: '1s' })).allowed).toBe(true)
  })

  test('with several subjects, each counts its own denials, and a block of one denies all', async () => {
    const { limiter } = start()
    const both = [acme, { id: 'other', plan: 'pro' }]
    await consume(limiter, 2)
    for (let i = 0; i < 2; i += 1) await limiter.consume(both)
    expect(await limiter.consume(both)).toMatchObject({ reason: 'blocked', violated: [], retryAfterMs: MIN })
    expect((await limiter.peek({ id: 'other', plan: 'free' })).limits).toMatchObject([{ remaining: 2 }])
  })

  test('a denied cost above the quota creates nothing', async () => {
    const { limiter } = start()
    for (let i = 0; i < 5; i += 1) {
      expect((await limiter.consume(acme, { cost: 9 })).reason).toBe('cost-exceeds-quota')
    }
    expect(await limiter.reset(acme)).toBe(false)
    await limiter.consume(acme)
    for (let i = 0; i < 3; i += 1) await limiter.consume(acme, { cost: 9 })
    expect(await limiter.consume(acme)).toMatchObject({ reason: 'blocked', retryAfterMs: MIN })
    expect(await limiter.consume(acme, { cost: 9 })).toMatchObject({ reason: 'blocked', retryAfterMs: null })
  })

  test(`law 2 on ${store}: a denial changes no limit, and a request that a block denies changes nothing`, async () => {
    const { limiter, clock } = start({
      plans: { free: { limits: ['2/min', '9/h', '40/s burst 20'], blockAfter }, pro: '9/h' },
    })
    await consume(limiter, 2)
    const asPro = async (): Promise<unknown> => {
      limiter.setPlans({ free: ['2/min', '9/h', '40/s burst 20'], pro: '9/h' }, { defaultPlan: 'pro' })
      return (await limiter.peek(acme)).limits
    }
    const before = await asPro()
    limiter.setPlans({ free: { limits: ['2/min', '9/h', '40/s burst 20'], blockAfter }, pro: '9/h' })
    expect(reasons(await consume(limiter, 5))).toEqual([
      'quota-exceeded',
      'quota-exceeded',
      'blocked',
      'blocked',
      'blocked',
    ])
    expect(await asPro()).toEqual(before)
    limiter.setPlans({ free: { limits: ['2/min', '9/h', '40/s burst 20'], blockAfter }, pro: '9/h' })
    clock.now += MIN
    expect((await limiter.peek(acme)).allowed).toBe(true)
  })
})

test('a local share of the limits blocks nobody', async () => {
  const limiter = createLimiter({
    plans: { free: { limits: '2/min', blockAfter: { ...blockAfter, denials: 1 } } },
    store: {
      synchronous: false,
      blocks: true,
      consume: () => Promise.reject(new Error('away')),
      peek: () => Promise.reject(new Error('away')),
      refund: () => Promise.reject(new Error('away')),
      reset: () => Promise.reject(new Error('away')),
    },
    local: { instances: 1 },
    warnings: false,
  })
  expect(reasons(await consume(limiter, 5))).toEqual([
    'allowed',
    'allowed',
    'quota-exceeded',
    'quota-exceeded',
    'quota-exceeded',
  ])
  await limiter.close()
})

test.each([
  ['memory', inMemory],
  ['redis', onRedis],
])('a request of a route that is asked for twice counts as one denial, on %s', async (_, make) => {
  const limiter = make({ plans: { pro: '100/h' }, denials: false })
  const stacked = { login: { limits: '1/h', blockAfter } } as const
  const reasonOf = async (): Promise<unknown> => {
    const first = await limiter.consume('acme')
    return (await amend(limiter, first, { stacked })).reason
  }
  const all = [await reasonOf(), await reasonOf(), await reasonOf(), await reasonOf()]
  expect(all).toEqual([undefined, 'quota-exceeded', 'quota-exceeded', 'blocked'])
})
