// What a process does with a list that is slow, silent, wrong or behind, and when its limiters close.
import { eventually } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../../src/index.js'
import { MemoryRules } from '../../../src/stores/memory/memory-rules.js'
import type { RuleList, RulesCall, RulesReply } from '../../../src/stores/rule-list.js'
import { asyncStore } from '../../support/stores.js'
import { listed, refusalOf } from './rule-bench.js'

const HOUR_MS = 3_600_000
const limiters: Limiter[] = []
afterEach(async () => void (await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))))

/** A list behind a network. */
class RemoteList implements RuleList {
  readonly #list: MemoryRules
  /** Takes the place of an answer. */
  answer: (reply: RulesReply, call: RulesCall) => unknown = (reply) => reply
  readonly calls: RulesCall[] = []

  constructor(aheadMs = 0) {
    this.#list = new MemoryRules(() =>
      Math.round((performance.timeOrigin + performance.now() + aheadMs) * 1000),
    )
  }

  async sync(call: RulesCall): Promise<RulesReply> {
    this.calls.push(call)
    return (await this.answer(this.#list.sync(call), call)) as RulesReply
  }
}

function limiterOn(store: Store, options: Partial<LimiterOptions> = {}): Limiter {
  const limiter = createLimiter({ limit: '9/min', store, warnings: false, ...options } as LimiterOptions)
  limiters.push(limiter)
  return limiter
}

const isBlocked = async (limiter: Limiter, id = 'acme'): Promise<boolean> =>
  (await limiter.peek(id)).source === 'rule'

test('a process whose clock is an hour off goes by the clock of the store', async () => {
  for (const aheadMs of [-HOUR_MS, HOUR_MS]) {
    const limiter = limiterOn(asyncStore({ rules: new RemoteList(aheadMs) }))
    // Before anything was read, and while the list is read.
    const setting = [limiter.block('first', { for: '10min' })]
    await new Promise((resolve) => setImmediate(resolve))
    setting.push(limiter.block('second', { for: '10min' }))
    const wasBlocked: boolean[] = []
    for (let i = 0; i < 20; i += 1)
      wasBlocked.push(await isBlocked(limiter, 'first'), await isBlocked(limiter, 'second'))
    expect(wasBlocked).not.toContain(false)
    const [rule] = await Promise.all(setting)
    expect(Math.abs(Number(rule?.until) - Date.now() - aheadMs - 600_000)).toBeLessThan(30_000)
    const until = new Date(Date.now() + aheadMs + 600_000)
    await limiter.block('acme', { until })
    expect(await isBlocked(limiter)).toBe(true)
    const past = limiter.block('acme', { until: new Date(Date.now() + aheadMs - 600_000) })
    await expect(past).rejects.toMatchObject({
      code: 'ERR_TOLLGATE_CONFIG',
      message: expect.stringMatching(/until: got .*, expected a time to come: by the store's clock it is/),
    })
    expect(await isBlocked(limiter)).toBe(true)
  }
})

test('a change whose answer never comes is sent again under its id', async () => {
  const list = new RemoteList()
  const limiter = limiterOn(asyncStore({ rules: list }))
  await eventually(() => limiter.health().rules === 'current')
  list.answer = () => new Promise(() => {})
  await expect(limiter.block('acme', { for: '1h' })).rejects.toMatchObject({
    code: 'ERR_TOLLGATE_STORE_TIMEOUT',
  })
  list.answer = (reply) => reply
  await eventually(() => list.calls.filter(({ changes }) => changes.length > 0).length > 1)
  const ids = list.calls.flatMap(({ changes }) => changes.map(({ id }) => id))
  expect(new Set(ids).size).toBe(1)
  await eventually(() => limiter.health().rules === 'current')
  expect(await listed(limiter)).toHaveLength(1)
})

test('the rules are asked for anew, not taken from an answer under way', async () => {
  const list = new RemoteList()
  const limiter = limiterOn(asyncStore({ rules: list }))
  await eventually(() => limiter.health().rules === 'current')
  let release = (): void => {}
  list.answer = (reply) => new Promise((resolve) => (release = () => resolve(reply)))
  const { length } = list.calls
  await eventually(() => list.calls.length > length)
  // Another process sets a rule. The answer under way does not have it.
  const there = limiterOn(
    asyncStore({ rules: { sync: (call) => RemoteList.prototype.sync.call(list, call) } }),
  )
  const reading = listed(limiter)
  const answer = release
  list.answer = (reply) => reply
  await there.block('acme', { for: '1h' })
  answer()
  expect(await reading).toHaveLength(1)
})

test.each([
  ['nothing', undefined],
  ['an empty object', {}],
  [
    'other results',
    { at: 1, results: [], isWhole: false, entries: [], known: { version: 0, id: '' }, hasMore: true },
  ],
])('a list that answers with %s switches rules off, and nothing else', async (_, answer) => {
  const list = new RemoteList()
  list.answer = () => answer
  const told: string[] = []
  const spy = jest.spyOn(process, 'emitWarning').mockImplementation((_text, options) => {
    told.push((options as { code: string }).code)
  })
  const limiter = limiterOn(asyncStore({ rules: list }), { warnings: true })
  await eventually(() => limiter.health().rules === 'off')
  spy.mockRestore()
  expect(told).toEqual(['TOLLGATE_RULES'])
  await expect(limiter.block('acme', { for: '1h' })).rejects.toMatchObject({ reason: 'protocol' })
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true })
})

test('a list that fails is asked again, and keeps no call waiting', async () => {
  const list = new RemoteList()
  list.answer = () => {
    throw new TypeError('a bug')
  }
  const limiter = limiterOn(asyncStore({ rules: list }))
  await expect(listed(limiter)).rejects.toMatchObject({ message: 'the store failed: a bug' })
  const setting = limiter.block('acme', { for: '1h' })
  expect(await isBlocked(limiter)).toBe(true)
  list.answer = (reply) => reply
  await setting
  expect(limiter.health().rules).toBe('current')
})

test('a closed limiter is reported until the store has answered', async () => {
  const list = new RemoteList()
  const store = asyncStore({ rules: list })
  const [open, closing] = [limiterOn(store), limiterOn(store, { name: 'other' })]
  const reports = (): (readonly boolean[])[] =>
    list.calls.flatMap(({ instances }) => (instances ? [instances.map(({ isOpen }) => isOpen)] : []))
  await eventually(() => open.health().rules === 'current')
  list.answer = () => Promise.reject(new Error('gone'))
  await closing.close()
  const before = list.calls.length
  list.answer = (reply) => reply
  await eventually(() => list.calls.length > before)
  expect(list.calls[before]?.instances?.map(({ isOpen }) => isOpen)).toContain(false)
  await eventually(() => open.health().rules === 'current')
  await open.block('acme', { for: '1h' })
  expect(reports().at(-1)).not.toContain(false)
})

test('a rule that a listener sets in memory is set', async () => {
  const limiter = limiterOn(memoryStore())
  const set: Promise<unknown>[] = []
  limiter.on('rule', ({ rule }) => rule.of === 'acme' && set.push(limiter.block('globex', { for: '1h' })))
  await limiter.block('acme', { for: '1h' })
  await Promise.all(set)
  expect(await listed(limiter)).toHaveLength(2)
})

test('a plan that was looked up before the first reading is forgotten with it', async () => {
  const list = new RemoteList()
  let open = (): void => {}
  list.answer = async (reply) => {
    await new Promise<void>((resolve) => (open = resolve))
    return reply
  }
  let plan = 'free'
  const plans = { plans: { free: '1/min', pro: '9/min' }, defaultPlan: 'free', limit: undefined }
  const store = asyncStore({ rules: list })
  const limiter = limiterOn(store, { ...plans, planOf: () => plan } as Partial<LimiterOptions>)
  await eventually(() => list.calls.length > 0)
  expect(await limiter.peek('acme')).toMatchObject({ plan: 'free' })
  plan = 'pro'
  const direct = new RemoteList()
  Object.assign(list, { answer: (reply: RulesReply) => reply })
  const there = limiterOn(
    asyncStore({ rules: { sync: (call) => list.sync(call) } }),
    plans as Partial<LimiterOptions>,
  )
  await there.forgetPlan('acme', { everywhere: true })
  expect(direct.calls).toEqual([])
  open()
  await eventually(async () => expect(await limiter.peek('acme')).toMatchObject({ plan: 'pro' }))
})

describe('when its limiter closes', () => {
  const closed = { code: 'ERR_TOLLGATE_CLOSED' }

  test('what is not written is refused, and so are later calls', async () => {
    const list = new RemoteList()
    const limiter = limiterOn(asyncStore({ rules: list }))
    await eventually(() => limiter.health().rules === 'current')
    list.answer = () => new Promise(() => {})
    const refused = [
      refusalOf(limiter.block('acme', { for: '1h' })),
      refusalOf(limiter.unblock('globex')),
      refusalOf(listed(limiter)),
    ]
    await limiter.close()
    expect(await Promise.all(refused)).toMatchObject([closed, closed, closed])
    await expect(limiter.block('acme', { for: '1h' })).rejects.toMatchObject(closed)
    await expect(listed(limiter)).rejects.toMatchObject(closed)
    await expect(limiter.forgetPlan('acme', { everywhere: true })).rejects.toMatchObject(closed)
  })

  test('another on the same store goes on, and one that is made later reads the rules', async () => {
    const list = new RemoteList()
    const store = asyncStore({ rules: list })
    const [first, second] = [limiterOn(store), limiterOn(store, { name: 'login' })]
    await first.block('acme', { for: '1h' })
    let answer = (): void => {}
    list.answer = (reply) => new Promise((resolve) => (answer = () => resolve(reply)))
    const written = first.block('globex', { for: '1h' })
    await eventually(() => list.calls.some(({ changes }) => changes.length > 0))
    await first.close()
    list.answer = (reply) => reply
    await eventually(async () => {
      answer()
      return (await Promise.race([written, undefined])) !== undefined
    })
    await second.block('acme', { for: '1h' })
    const again = limiterOn(store)
    expect(await isBlocked(again)).toBe(true)
    expect(await listed(again)).toHaveLength(2)
  })

  test('an answer that was under way settles no change of a later limiter', async () => {
    const list = new RemoteList()
    const store = asyncStore({ rules: list })
    const first = limiterOn(store)
    await eventually(() => first.health().rules === 'current')
    let answer = (): void => {}
    list.answer = (reply) => new Promise((resolve) => (answer = () => resolve(reply)))
    const refused = refusalOf(first.block('acme', { for: '1h' }))
    await eventually(() => list.calls.some(({ changes }) => changes.length > 0))
    await first.close()
    expect(await refused).toMatchObject(closed)
    const second = limiterOn(store)
    const lifted = second.unblock('globex')
    list.answer = (reply) => reply
    answer()
    expect(await lifted).toBe(false)
  })
})
