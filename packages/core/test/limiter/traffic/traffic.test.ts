// Who is busiest, who is denied most and who is near a limit; the log of denials and that of rules.
import { deployCluster, eventually, testPrefix } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import {
  createLimiter,
  memoryStore,
  redisStore,
  subjectForIp,
  type Limiter,
  type LimiterOptions,
  type Store,
  type Subject,
} from '../../../src/index.js'
import type { Board } from '../../../src/stores/board.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'
import { closesWithTest, connect, endFaults, endsWithTest, server } from '../../support/faults.js'
import { asyncStore } from '../../support/stores.js'

afterEach(endFaults)
afterAll(closeBenches)

const MINUTE = 60_000
const clock = { now: 0 }
const now = (): number => clock.now
beforeEach(() => {
  clock.now = Date.UTC(2030, 0, 31, 14, 3)
})

const plans = { free: ['4/min', '1000/d'], pro: '3000/min' }

function make(store: Store, options: object = {}): Limiter {
  const given = { plans, defaultPlan: 'free', store, warnings: false, deadlineMs: 10_000, ...options }
  return closesWithTest(createLimiter(given as LimiterOptions))
}

async function use(limiter: Limiter, id: string, times: number, plan = 'free'): Promise<void> {
  for (let i = 0; i < times; i += 1) await limiter.consume({ id, plan })
}

const STORES: [string, () => Store][] = [
  ['memory', () => memoryStore({ now })],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix(), now })],
]

describe.each(STORES)('%s', (_, newStore) => {
  test('the busiest, the most denied and the nearest', async () => {
    const limiter = make(newStore())
    await use(limiter, 'acme', 7)
    await use(limiter, 'globex', 2)
    await limiter.consume({ id: 'initech', plan: 'pro' }, { cost: 300 })
    const { coversMs, ...view } = await limiter.traffic()
    expect(coversMs).toBeGreaterThanOrEqual(0)
    expect(view).toEqual({
      ...{ processes: 1, unread: 0, requests: 10, denied: 3 },
      busiest: [
        { subject: 'acme', plan: 'free', requests: 7, error: 0, denied: 3, units: 4 },
        { subject: 'globex', plan: 'free', requests: 2, error: 0, denied: 0, units: 2 },
        { subject: 'initech', plan: 'pro', requests: 1, error: 0, denied: 0, units: 300 },
      ],
      mostDenied: [{ subject: 'acme', plan: 'free', denied: 3, error: 0 }],
      nearest: [
        { subject: 'acme', plan: 'free', limit: 'minute', share: 1, used: 4, quota: 4 },
        { subject: 'globex', plan: 'free', limit: 'minute', share: 0.5, used: 2, quota: 4 },
        { subject: 'initech', plan: 'pro', limit: 'minute', share: 0.1, used: 300, quota: 3000 },
      ],
    })
    expect((await limiter.traffic({ most: 1 })).busiest.map(({ subject }) => subject)).toEqual(['acme'])
  })

  test('a limit with a burst is as large as its burst', async () => {
    const limiter = make(newStore(), { plans: { free: '10/s burst 40' } })
    await limiter.consume({ id: 'acme', plan: 'free' }, { cost: 40 })
    expect((await limiter.traffic()).nearest).toMatchObject([
      { subject: 'acme', share: 1, used: 40, quota: 40 },
    ])
    await limiter.consume({ id: 'acme', plan: 'free' }, { cost: 40 })
    expect((await limiter.denialLog()).denials).toMatchObject([{ subject: 'acme', quota: 40 }])
  })

  test('of several limits that deny, the one is named that is back last', async () => {
    const limiter = make(newStore(), { plans: { free: ['4/min', '4/h', '9/d'] } })
    await limiter.consume({ id: 'acme', plan: 'free' }, { cost: 4 })
    expect(await limiter.consume({ id: 'acme', plan: 'free' })).toMatchObject({
      violated: ['minute', 'hour'],
    })
    expect((await limiter.denialLog()).denials).toMatchObject([{ limit: 'hour', waitMs: 60 * MINUTE }])
  })

  test('denials of a minute are one record, and of longer ones if they go on', async () => {
    const store = newStore()
    const limiter = make(store)
    await use(limiter, 'acme', 4)
    const context = { route: '/v1/search' }
    await limiter.consume('acme', { context })
    clock.now += 20_000
    await limiter.consume({ id: 'acme', plan: 'free' }, { cost: 2 })
    const { from, denials } = await limiter.denialLog({ of: 'acme' })
    const first = new Date(Date.UTC(2030, 0, 31, 14, 3))
    // The log in memory cannot be older than the limiter.
    expect(from).toEqual(store.synchronous ? first : new Date(clock.now - 86_400_000))
    expect(denials).toEqual([
      {
        ...{ subject: 'acme', plan: 'free', limit: 'minute', reason: 'quota-exceeded', source: 'store' },
        ...{ first, last: new Date(clock.now), count: 2, cost: 2, used: 4, quota: 4, waitMs: 40_000 },
        route: '/v1/search',
      },
    ])
    // Denied without end, it gets a record for one minute, two, four and so on.
    for (let i = 0; i < 40; i += 1) {
      clock.now += MINUTE
      await use(limiter, 'acme', 6)
    }
    const all = (await limiter.denialLog({ of: 'acme' })).denials
    expect(all.map(({ count }) => count).reduce((a, b) => a + b)).toBe(82)
    expect(all.length).toBeLessThan(8)
    // The latest first.
    expect(all.map(({ last }) => last.getTime())).toEqual(
      all.map(({ last }) => last.getTime()).toSorted((a, b) => b - a),
    )
  })

  test('the log is read by subject, by the beginning of ids, and by time', async () => {
    const limiter = make(newStore())
    for (const id of ['trial-1', 'trial-2', 'acme']) await use(limiter, id, 5)
    clock.now += 10 * MINUTE
    await use(limiter, 'acme', 5)
    await limiter.block('mallory', { for: '1h' })
    await limiter.consume('mallory')
    const subjects = async (options: object): Promise<string[]> =>
      (await limiter.denialLog(options)).denials.map(({ subject }) => subject)
    expect((await subjects({})).toSorted()).toEqual(['acme', 'acme', 'mallory', 'trial-1', 'trial-2'])
    expect((await subjects({ of: 'trial-*' })).toSorted()).toEqual(['trial-1', 'trial-2'])
    expect(await subjects({ of: { id: 'trial-*' } })).toEqual([])
    expect(await subjects({ of: 'acme', from: '2030-01-31T14:10:00Z' })).toEqual(['acme'])
    expect(await subjects({ of: 'acme', until: new Date(clock.now - MINUTE) })).toEqual(['acme'])
    expect((await limiter.denialLog({ of: 'mallory' })).denials).toMatchObject([
      { plan: '', reason: 'blocked', source: 'rule', count: 1 },
    ])
  })

  test('rules that were set, replaced and lifted, and by whom', async () => {
    const limiter = make(newStore())
    await limiter.block('acme', { for: '1h', reason: 'abuse', by: 'ops' })
    clock.now += 1000
    const rule = await limiter.override('acme', {
      limits: { quota: 9, window: 'month', anchor: 3 },
      for: '1h',
    })
    clock.now += 1000
    await rule.lift({ by: 'sales', reason: 'over' })
    await limiter.scale('free', 2, { for: '1h' })
    await limiter.forgetPlan('acme', { everywhere: true })
    const at = (seconds: number): Date => new Date(Date.UTC(2030, 0, 31, 14, 3, seconds))
    const override = { kind: 'override', of: 'acme', limits: { quota: 9, window: 'month', anchor: 3 } }
    const ofAcme = [
      { action: 'lifted', ...override, at: at(2), by: 'sales', reason: 'over' },
      { action: 'set', ...override, at: at(1) },
      { action: 'set', kind: 'block', of: 'acme', at: at(0), by: 'ops', reason: 'abuse' },
    ]
    expect(await limiter.ruleLog({ of: 'acme' })).toMatchObject(ofAcme)
    expect(await limiter.ruleLog()).toMatchObject([{ kind: 'scale', of: 'free', factor: 2 }, ...ofAcme])
    expect(await limiter.ruleLog({ of: 'free' })).toEqual([])
  })

  test('with hashIds, no id is on the board, and subjects are still found', async () => {
    const store = newStore()
    const limiter = make(store, { hashIds: 'a secret of more than 16 characters' })
    await use(limiter, 'customer@example.com', 5)
    const { busiest } = await limiter.traffic()
    const { denials } = await limiter.denialLog({ of: 'customer@example.com' })
    expect(denials.map(({ subject }) => subject)).toEqual([busiest[0]?.subject])
    expect(busiest[0]?.subject).toMatch(/^#/)
    const notes = []
    for (const topic of ['traffic.^', 'denials.^'])
      notes.push(...((await store.board?.read(topic, { sinceMs: 0, keptMs: 1e9, most: 100 })) ?? []))
    expect(notes).toHaveLength(2)
    expect(JSON.stringify(notes)).not.toContain('customer')
  })

  test.each([
    ['traffic', { most: 0 }, 'most: got 0, expected a whole number from 1 to 200'],
    ['traffic', { limit: 5 }, 'limit: there is no such option'],
    ['denialLog', { of: '' }, 'subject'],
    ['denialLog', { from: '2030-01-31' }, "from: got '2030-01-31', expected a time with its time zone"],
    ['denialLog', { until: Number.NaN }, 'until: got NaN'],
    ['denialLog', { from: 2, until: 1 }, 'from: got 2, expected a time before `until`'],
    ['ruleLog', { subject: 'acme' }, 'subject: there is no such option'],
  ] as const)('%s(%j) is refused', async (call, options, message) => {
    const limiter = make(newStore())
    await expect(limiter[call](options as never)).rejects.toThrow(message)
  })
})

test('in memory, the log has all subjects that were denied at once', async () => {
  const limiter = make(memoryStore())
  for (let i = 0; i < 200; i += 1) await limiter.consume({ id: `subject-${i}`, plan: 'free' }, { cost: 9 })
  expect((await limiter.denialLog()).denials).toHaveLength(200)
})

test('hostile ids are told as they are, or by their key', async () => {
  const limiter = make(memoryStore())
  const shown = ['<b>', '__proto__', 'constructor', "'; --"]
  const hidden = ['a\nb', '\u202eacme', '\u001b[31m', 'x'.repeat(1_000_000)]
  for (const id of [...shown, ...hidden]) await use(limiter, id, 5)
  const { busiest, mostDenied, nearest } = await limiter.traffic()
  for (const list of [busiest, mostDenied, nearest]) {
    const subjects = list.map(({ subject }) => subject)
    expect(subjects).toHaveLength(8)
    expect(subjects.filter((subject) => !subject.startsWith('#')).toSorted()).toEqual(shown.toSorted())
    for (const subject of subjects) if (!shown.includes(subject)) expect(subject).toMatch(/^#[\w-]{43}$/)
  }
  for (const id of [...shown, ...hidden])
    expect((await limiter.denialLog({ of: id })).denials).toHaveLength(1)
})

test('subjects of every kind, and requests with several', async () => {
  const limiter = make(memoryStore())
  const subjects = [
    subjectForIp('203.0.113.7'),
    subjectForIp('2001:db8::1'),
    { id: 42 },
    { id: '10.0.0.1', kind: 'id' },
  ]
  for (const subject of subjects) for (let i = 0; i < 5; i += 1) await limiter.consume(subject as Subject)
  await limiter.consume([{ id: 'payer' }, { id: 'other' }])
  const { busiest } = await limiter.traffic()
  const seen = busiest.map(({ subject, requests }) => `${subject} ${requests}`)
  expect(seen.toSorted()).toEqual(['10.0.0.1 5', '2001:db8:0:0::/64 5', '203.0.113.7 5', '42 5', 'payer 1'])
  for (const of of subjects) expect((await limiter.denialLog({ of: of as Subject })).denials).toHaveLength(1)
})

test('several processes: what all have seen, also of a subject that both serve', async () => {
  const prefix = testPrefix()
  const store = (): Store => redisStore(redisOfAnotherProcess(), { prefix })
  const [first, second] = [make(store()), make(store())]
  await use(first, 'acme', 6, 'pro')
  await use(second, 'acme', 3, 'pro')
  await use(second, 'globex', 1, 'pro')
  // The second one puts its figures on the board by itself, within a second once it knows that somebody looks.
  await eventually(async () => (await first.traffic()).processes === 2, 'both processes tell their traffic')
  const { requests, busiest } = await first.traffic()
  expect(requests).toBe(10)
  expect(busiest.map(({ subject, requests: own, error }) => [subject, own, error])).toEqual([
    ['acme', 9, 0],
    ['globex', 1, 0],
  ])
  // One of them writes down what both learn of.
  const heard: unknown[] = []
  second.on('rule', (change) => heard.push(change))
  await first.block('acme', { for: '1h' })
  await eventually(() => heard.length === 1, 'the other process knows the rule')
  expect(await second.ruleLog()).toHaveLength(1)
})

test('a rule that is lifted by a script that has just started', async () => {
  const prefix = testPrefix()
  const store = (): Store => redisStore(redisOfAnotherProcess(), { prefix })
  await make(store()).block('acme', { for: '1h' })
  const script = make(store(), { traffic: false })
  const heard: unknown[] = []
  script.on('rule', (change) => heard.push(change))
  expect(await script.unblock('acme', { by: 'ops' })).toBe(true)
  expect(heard).toMatchObject([{ action: 'lifted', by: 'ops', rule: { kind: 'block', of: 'acme' } }])
  expect(await script.ruleLog()).toMatchObject([{ action: 'lifted', by: 'ops' }, { action: 'set' }])
})

test('while somebody looks, processes tell their traffic more often', async () => {
  const prefix = testPrefix()
  const puts = { watched: 0, alone: 0 }
  const counting = (name: keyof typeof puts): Limiter => {
    const store = redisStore(redisOfAnotherProcess(), { prefix })
    const board = store.board as { put: Board['put'] }
    const put = board.put.bind(board)
    board.put = (topic, ...given) => {
      if (topic.startsWith('traffic')) puts[name] += 1
      return put(topic, ...given)
    }
    return make(store, { name })
  }
  const [watched, alone] = [counting('watched'), counting('alone')]
  const looks = make(redisStore(redisOfAnotherProcess(), { prefix }), { name: 'watched', traffic: false })
  await eventually(async () => {
    await Promise.all([use(watched, 'acme', 1), use(alone, 'acme', 1), looks.traffic()])
    return puts.watched >= 5
  }, 'the process puts its figures again and again')
  expect(puts.alone).toBeLessThan(puts.watched - 1)
})

test('a process that closes writes down what it has seen last', async () => {
  const prefix = testPrefix()
  const short = make(redisStore(redisOfAnotherProcess(), { prefix }))
  await use(short, 'acme', 5)
  await short.close()
  const later = make(redisStore(redisOfAnotherProcess(), { prefix }))
  expect((await later.denialLog()).denials).toMatchObject([{ subject: 'acme', count: 1 }])
})

test('a limiter of another name, and one that does not count', async () => {
  const store = memoryStore()
  const [api, other] = [make(store, { name: 'api' }), make(store, { name: 'other' })]
  await use(api, 'acme', 5)
  expect((await api.traffic()).requests).toBe(5)
  expect(await other.traffic()).toMatchObject({ processes: 0, requests: 0, busiest: [] })
  expect((await other.denialLog()).denials).toEqual([])

  const redis = (options: object): Limiter =>
    make(redisStore(redisOfAnotherProcess(), { prefix: 'silent' }), options)
  const [counts, looks] = [redis({}), redis({ traffic: false })]
  await use(counts, 'acme', 3, 'pro')
  await use(looks, 'acme', 3, 'pro')
  await eventually(async () => (await looks.traffic()).requests === 3, 'what the other process has seen')
  expect((await looks.traffic()).processes).toBe(1)
})

test('on a cluster', async () => {
  const { ports, end } = await deployCluster()
  endsWithTest({ disconnect: () => void end() })
  const cluster = new Cluster(
    ports.map((port) => ({ host: '127.0.0.1', port })),
    { clusterRetryStrategy: () => 50 },
  )
  endsWithTest(cluster)
  const limiter = make(redisStore(cluster))
  for (const id of ['a', 'b', 'c', 'd']) await use(limiter, id, 5)
  await limiter.block('a', { for: '1h' })
  expect((await limiter.traffic()).busiest).toHaveLength(4)
  expect((await limiter.denialLog()).denials).toHaveLength(4)
  expect(await limiter.ruleLog()).toHaveLength(1)
})

test('while Redis hangs, asking fails within seconds, decisions go on, and then all is there', async () => {
  const redis = await server()
  const limiter = make(redisStore(connect(redis.port)), { deadlineMs: 200, onStoreFailure: 'open' })
  await use(limiter, 'acme', 5)
  redis.pause()
  await expect(limiter.traffic()).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
  await expect(limiter.denialLog()).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
  expect((await limiter.consume('globex')).allowed).toBe(true)
  redis.resume()
  await eventually(
    async () => (await limiter.denialLog({ of: 'acme' }).catch(() => undefined))?.denials.length === 1,
    'the denial is in the log',
  )
})

test('where the store refuses, there is one warning, and limits and rules go on', async () => {
  const { port } = await server()
  const operator = connect(port)
  // A key that somebody else has written.
  await operator.set('tollgate/!board.times.denials.^', 'foreign')
  await operator.set('tollgate/!board.times.traffic.^', 'foreign')
  const warnings: unknown[] = []
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation((text) => void warnings.push(text))
  endsWithTest({ disconnect: () => spy.mockRestore() })
  const limiter = make(redisStore(connect(port)), { warnings: true })
  await use(limiter, 'acme', 5)
  await expect(limiter.traffic()).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE' })
  await expect(limiter.traffic()).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE' })
  await eventually(() => warnings.length > 0, 'the warning')
  expect(warnings).toEqual([expect.stringContaining('limits and rules work. traffic: false turns them off.')])
  await limiter.block('acme', { for: '1h' })
  expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'rule' })
  expect(await limiter.consume('globex')).toMatchObject({ allowed: true, source: 'store' })
})

test('a store without a board refuses', async () => {
  const limiter = make(asyncStore())
  await use(limiter, 'acme', 5)
  for (const call of ['traffic', 'denialLog', 'ruleLog'] as const) {
    await expect(limiter[call]()).rejects.toThrow(
      'store: this store keeps no figures about traffic and no logs',
    )
  }
})
