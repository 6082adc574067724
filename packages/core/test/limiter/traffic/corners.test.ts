// What an attacker found where figures and logs meet load, outages, rules and other versions.
import { setImmediate as turn } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  readPlans,
  redisStore,
  type Limiter,
  type LimiterOptions,
  type Store,
  type Subject,
} from '../../../src/index.js'
import { Rules } from '../../../src/features/rules/rules.js'
import type { Decision } from '../../../src/limiter/decision/decision.js'
import { forEachNote } from '../../../src/limiter/traffic/board-access.js'
import { areIdsHashed } from '../../../src/limiter/traffic/given-plans.js'
import { DenialRecords } from '../../../src/limiter/traffic/denial-log.js'
import { Sampler } from '../../../src/limiter/traffic/sampler.js'
import { TopSketch } from '../../../src/limiter/traffic/top-sketch.js'
import type { Board } from '../../../src/stores/board.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'
import { closesWithTest, connect, endFaults, server } from '../../support/faults.js'

afterEach(endFaults)
afterAll(closeBenches)

const plans = { free: ['4/min', '1000/d'], pro: '3000/min' }

function make(store: Store, options: object = {}): Limiter {
  const given = { plans, defaultPlan: 'free', store, warnings: false, deadlineMs: 10_000, ...options }
  return closesWithTest(createLimiter(given as LimiterOptions))
}

function denialOf(id: string, more: object = {}): Decision {
  const decision = {
    allowed: false,
    plan: 'free',
    cost: 1,
    limits: [],
    violated: ['minute'],
    retryAfterMs: 10,
  }
  return { ...decision, source: 'store', subject: { id }, ...more } as unknown as Decision
}

test('after a peak, at most 250 requests a second are counted exactly again', () => {
  const time = { now: 0 }
  const sampler = new Sampler(() => time.now)
  for (let i = 0; i < 5000; i += 1) sampler.weigh()
  expect(sampler.isExact).toBe(false)
  for (let second = 0; second < 30; second += 1) {
    for (let i = 0; i < 200; i += 1) {
      time.now += 5
      sampler.weigh()
    }
    sampler.tick()
  }
  expect(sampler.isExact).toBe(true)
})

test('of more denied subjects than one call takes, each has its turn', () => {
  const records = new DenialRecords(undefined)
  const written = new Set<string>()
  for (let round = 0; round < 3; round += 1) {
    for (let i = 0; i < 250; i += 1) {
      const context = { decision: denialOf(`c${i}`), context: undefined }
      records.note(context, { what: `c${i}`, of: `c${i}` }, { count: 1, nowMs: 1000 * round })
    }
    for (const { key } of records.due(1000 * round, 100)) written.add(key)
  }
  expect(written.size).toBe(250)
})

test('denials by the store and by the process alone are told apart, and a rule that was lifted is over', () => {
  const records = new DenialRecords(undefined)
  const note = (more: object, nowMs: number): void =>
    records.note(
      { decision: denialOf('acme', more), context: undefined },
      { what: 'acme', of: 'acme' },
      { count: 1, nowMs },
    )
  note({ override: true }, 0)
  note({ source: 'cache', override: true }, 1000)
  note({}, 2000)
  note({ source: 'local' }, 3000)
  expect(records.due(4000, 10).map(({ record }) => record)).toEqual([
    expect.objectContaining({ count: 3, source: 'store', last: new Date(2000) }),
    expect.objectContaining({ count: 1, source: 'local', first: new Date(3000) }),
  ])
  note({}, 5000)
  const [again] = records.due(5000, 10)
  expect(again?.record).toMatchObject({ count: 4 })
  expect('override' in (again?.record ?? {})).toBe(false)
})

test('reading many notes lets other work have its turn', async () => {
  let turns = 0
  const ended = { is: false }
  const others = (async () => {
    while (!ended.is) {
      await turn()
      turns += 1
    }
  })()
  const before: number[] = []
  await forEachNote(
    Array.from({ length: 5 }, (_, i) => ({ id: String(i), text: '' })),
    () => {
      before.push(turns)
      for (const until = performance.now() + 6; performance.now() < until;);
    },
  )
  ended.is = true
  await others
  expect(before.slice(1).every((now, i) => now > (before[i] as number))).toBe(true)
})

test('what a process has put down while it was putting is in its figures', async () => {
  const limiter = make(redisStore(sharedRedis(), { prefix: testPrefix() }))
  const views: Promise<unknown>[] = []
  for (let i = 0; i < 40; i += 1) {
    await limiter.consume({ id: `t${i}`, plan: 'pro' })
    views.push(limiter.traffic().then(({ requests }) => expect(requests).toBeGreaterThan(i)))
  }
  await Promise.all(views)
})

test('a store that takes no notes is an error, and no calm', async () => {
  const store = redisStore(sharedRedis(), { prefix: testPrefix() })
  const board = store.board as { put: Board['put'] }
  board.put = () => Promise.reject(new Error('OOM command not allowed'))
  const limiter = make(store)
  await limiter.consume('acme')
  for (const call of ['traffic', 'denialLog'] as const) await expect(limiter[call]()).rejects.toThrow('OOM')
})

test('notes of others are left alone', async () => {
  const store = memoryStore()
  const board = store.board as Board
  const limiter = make(store, { traffic: false })
  const terms = { keptMs: 60_000, most: 1000 }
  const texts = [
    '',
    'null',
    '5',
    '[1]',
    '[1,5,5,0,0,{"count":1}]',
    '[1,"a","",1e300,0,{"count":1}]',
    '{"a":1}',
  ]
  const facts = { plan: 'free', reason: 'blocked', source: 'rule', count: 1, cost: 1, waitMs: 1 }
  const wrong = [
    { cost: null },
    { plan: 7 },
    { route: {} },
    { used: '\u001b[31m' },
    { source: 5 },
    { waitMs: 'x' },
    { waitMs: 1e300 },
  ]
  for (const one of wrong) texts.push(JSON.stringify([1, 'a', '', 0, 0, { ...facts, ...one }]))
  const rule = JSON.stringify({ v: 1, kind: 'block', of: 'a' })
  texts.push(
    JSON.stringify([1, '\u001b[31m', 0, 0, null, rule]),
    JSON.stringify([1, 'set', 'zzz', 0, null, rule]),
  )
  texts.push(
    JSON.stringify([
      2,
      'a',
      'set',
      0,
      0,
      null,
      JSON.stringify({ v: 1, kind: 'override', of: 'a', factor: 'two' }),
    ]),
  )
  const reports = ['[1,-5,-5,-5,[0,[]],[0,[]],[]]', '[1,1,1,1,[0,[["a","","p",-1,0,0,0]]],[0,[]],[]]']
  const notes = [...texts, ...reports].map((text, i) => ({ id: String(i), text }))
  for (const topic of ['denials.^', 'traffic.^', 'plans.^', 'rules.^']) await board.put(topic, notes, terms)
  expect((await limiter.denialLog({ of: 'abc*' })).denials).toEqual([])
  expect((await limiter.denialLog({ from: 0 })).denials).toEqual([])
  expect(await limiter.traffic()).toMatchObject({ processes: 0, unread: notes.length, requests: 0 })
  expect(await limiter.ruleLog()).toEqual([])
  for (const text of ['[2,false,{"plans":5}]', '[2,false,5]', '[2]', '[1,{"limit":"1/s"}]']) {
    await board.put('plans.^', [{ id: 'plans', text }], terms)
    expect([text, await readPlans(store)]).toEqual([text, undefined])
  }
})

test('that ids are hashed is also read of another version', async () => {
  const store = memoryStore()
  for (const hides of [true, false]) {
    const text = JSON.stringify([7, hides, 'plans in another way'])
    await store.board?.put('plans.^', [{ id: 'plans', text }], { keptMs: 60_000, most: 1 })
    expect(await areIdsHashed(store, undefined)).toBe(hides)
  }
})

test('the figures of one subject, or of a beginning of ids', async () => {
  for (const hashIds of [undefined, 'a secret of more than 16 characters']) {
    const limiter = make(redisStore(sharedRedis(), { prefix: testPrefix() }), { hashIds })
    const long = 'x'.repeat(200)
    for (const id of ['acme', 'acme', 'globex', long]) await limiter.consume({ id, plan: 'pro' })
    expect(await limiter.traffic({ of: 'acme' })).toMatchObject({ requests: 4, busiest: [{ requests: 2 }] })
    expect((await limiter.traffic({ of: long })).busiest).toMatchObject([{ plan: 'pro', requests: 1 }])
    expect((await limiter.traffic({ of: { id: 'nobody' } })).busiest).toEqual([])
    if (hashIds === undefined) expect((await limiter.traffic({ of: 'ac*' })).nearest).toHaveLength(1)
  }
})

test('the log of rules tells ids and beginnings of ids apart', async () => {
  const limiter = make(redisStore(sharedRedis(), { prefix: testPrefix() }))
  await limiter.block({ id: 'acme*' }, { for: '1h' })
  await limiter.block('trial-*', { for: '1h' })
  const logged = async (of: Subject | string): Promise<number> => (await limiter.ruleLog({ of })).length
  expect([await logged('acme-2'), await logged({ id: 'acme*' }), await logged('acme*')]).toEqual([0, 1, 0])
  expect([await logged('trial-7'), await logged({ id: 'trial-*' }), await logged('trial-*')]).toEqual([
    1, 1, 1,
  ])
})

test('a user without all rights leaves no key that nothing ends', async () => {
  const { port } = await server()
  const operator = connect(port)
  for (const command of ['zadd', 'pexpire', 'hset']) {
    await operator.acl('SETUSER', 'default', '-@all', '+@all', `-${command}`)
    const client = connect(port)
    const board = redisStore(client, { prefix: command }).board as Board
    const put = board.put('x', [{ id: 'a', text: 'b' }], { keptMs: 1000, most: 10 })
    await expect(Promise.resolve(put)).rejects.toMatchObject({ reason: 'not-permitted' })
    await operator.acl('SETUSER', 'default', '+@all')
    expect(await operator.keys(`${command}/*`)).toEqual([])
  }
})

test('a question that the full list of rules has no room for is refused at once', async () => {
  const store = redisStore(sharedRedis(), { prefix: testPrefix() })
  const rules = store.rules as { sync: NonNullable<Store['rules']>['sync'] }
  const sync = rules.sync.bind(rules)
  rules.sync = async (call) => {
    const reply = await sync({ ...call, changes: [] })
    return { ...reply, results: call.changes.map(() => 'full') }
  }
  await expect(make(store, { traffic: false }).inspect('acme')).rejects.toThrow(
    'there are 10000 rules already',
  )
})

test('a subject that takes the place of another one does not take its plan', () => {
  const sketch = new TopSketch(1)
  sketch.add({ what: 'a', of: 'a' }, 1, 'pro')
  expect(sketch.add({ what: 'b', of: 'b' }, 1, '')).toMatchObject({ subject: 'b', plan: '' })
})

test('an answer that is none is an error', async () => {
  const prefix = testPrefix()
  const store = redisStore(redisOfAnotherProcess(), { prefix })
  const board = store.board as { read: Board['read'] }
  const script = make(store, { traffic: false })
  const answer = { plan: 'free', limits: [], violated: [], allowed: true, retryAfterMs: 0 }
  const none = [{ limits: 'x' }, { plan: 5 }, { block: { of: 'a', until: 'zzz' } }, { violated: [1] }]
  for (const one of [{}, ...none]) {
    const text = JSON.stringify([1, { ...answer, ...one }])
    board.read = async (topic) => {
      const [question = ''] = asked.mock.calls.at(-1) ?? []
      return topic.startsWith('answers') ? [{ id: question, text }] : []
    }
    const asked = jest.spyOn(Rules.prototype, 'ask')
    const said = script.inspect('acme')
    if (Object.keys(one).length === 0) expect(await said).toMatchObject(answer)
    else await expect(said).rejects.toMatchObject({ reason: 'protocol' })
    asked.mockRestore()
  }
})

test.each([{ from: 8.64e15 + 1 }, { from: 1e20, until: 1e21 }])('the time %j is refused', async (times) => {
  await expect(make(memoryStore()).denialLog(times)).rejects.toThrow(/^(from|until): got .*, expected a time/)
})

test('plans that are too many to be kept are not those of before', async () => {
  const store = redisStore(sharedRedis(), { prefix: testPrefix() })
  const limiter = make(store)
  await limiter.consume('acme')
  await limiter.traffic()
  expect(await readPlans(store)).toMatchObject({ defaultPlan: 'free' })
  limiter.setPlans(Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`plan-${i}`, '5/min'])), {
    defaultPlan: 'plan-0',
  })
  await limiter.traffic()
  expect(await readPlans(store)).toBeUndefined()
})

test('a limiter without requests says neither what the plans are nor that it is a process', async () => {
  const prefix = testPrefix()
  const store = (): Store => redisStore(redisOfAnotherProcess(), { prefix })
  const script = make(store(), { plans: { other: '1/s' }, defaultPlan: 'other' })
  expect((await script.traffic()).processes).toBe(0)
  await script.close()
  expect(await readPlans(store())).toBeUndefined()
})

test('a subject brings its own limits and a day, and no id gets into a store of hashed ones', async () => {
  const prefix = testPrefix()
  const store = (): Store => redisStore(redisOfAnotherProcess(), { prefix })
  const app = make(store(), { plans: undefined, defaultPlan: undefined, limit: '3/min' })
  const script = make(store(), { traffic: false })
  const acme = { id: 'acme', limits: [{ quota: 2, window: 'month', anchor: new Date(0) }] } as const
  for (let i = 0; i < 2; i += 1) await app.consume(acme)
  const asked = await script.inspect(acme)
  expect(asked.plan).toBe((await app.inspect(acme)).plan)
  expect(asked).toMatchObject({ allowed: false, limits: [{ quota: 2, used: 2 }] })
  const dated = { id: 'acme', anchor: new Date('2026-01-31') }
  expect((await script.inspect(dated)).limits).toMatchObject([{ quota: 3 }])

  const hashed = testPrefix()
  const hidden = (): Store => redisStore(redisOfAnotherProcess(), { prefix: hashed })
  const secret = make(hidden(), { hashIds: 'a secret of more than 16 characters' })
  await secret.consume('acme')
  await secret.traffic()
  await expect(make(hidden(), { traffic: false }).inspect('VERYSECRET')).rejects.toThrow('with hashIds')
})
