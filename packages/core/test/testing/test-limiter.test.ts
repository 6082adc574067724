// The limiter that records its decisions.
import { createHttpLimiter, internalsOf } from '../../src/adapter.js'
import { createLimiter, memoryStore, subjectForIp, type Limiter } from '../../src/index.js'
import { createTestLimiter, testClock } from '../../src/testing.js'
import { httpAdapter } from '../support/http-adapter.js'

test('it counts on a clock of its own', async () => {
  const limiter = createTestLimiter({ limit: '1/min' })
  await limiter.consume('acme')
  expect(limiter.consume('acme')).toMatchObject({ allowed: false, retryAfterMs: 60_000 })
  limiter.clock.advance('1min')
  expect(limiter.consume('acme')).toMatchObject({ allowed: true })
})

test('it counts on the clock, or in the store, that it is given', () => {
  const clock = testClock('2030-01-31T23:59:59Z')
  const limiter = createTestLimiter({ limit: '1/month', clock })
  expect(limiter.clock).toBe(clock)
  const other = createTestLimiter({ limit: '1/month', name: 'other', store: clock.memoryStore() })
  expect(other.clock).toBe(clock)
  for (const one of [limiter, other]) {
    clock.set('2030-01-31T23:59:59Z')
    expect([one.consume('acme'), one.consume('acme')]).toMatchObject([{ allowed: true }, { allowed: false }])
    clock.advance('1s')
    expect(one.consume('acme')).toMatchObject({ allowed: true })
  }
})

test('without a clock in its store it has none', () => {
  const limiter = createTestLimiter({ limit: '1/min', store: memoryStore() })
  expect(() => limiter.clock).toThrow(
    'clock: the store has none; make it with one: store: testClock().memoryStore()',
  )
})

test('its options are those of createLimiter, and wrong ones are refused', () => {
  const clock = testClock()
  expect(() => createTestLimiter({ limit: '1/min', clock, store: memoryStore() })).toThrow(
    'clock: the store has a clock',
  )
  expect(() => createTestLimiter({ limit: '1/min', clock: (() => 5) as never })).toThrow(
    'clock: got a function',
  )
  expect(() => createTestLimiter({ limit: 'one' })).toThrow("limit: got 'one'")
  expect(() => createTestLimiter({ limit: '1/min', colck: clock } as never)).toThrow(
    'colck: there is no such option',
  )
  expect(() => createTestLimiter(undefined as never)).toThrow('options: got undefined')
})

describe('records', () => {
  test('decisions in order, with their contexts', async () => {
    const limiter = createTestLimiter({ limit: '1/min' })
    const given = [
      await limiter.consume('acme', { context: { job: 'import' } }),
      await limiter.consume('acme'),
      await limiter.scope({ group: 'search' }).consume('acme'),
    ]
    await limiter.peek('acme')
    expect(limiter.decisions).toHaveLength(3)
    limiter.decisions.forEach((decision, i) => expect(decision).toBe(given[i]))
    expect([limiter.allowed, limiter.denied]).toEqual([[given[0], given[2]], [given[1]]])
    expect(limiter.decisions.map(limiter.contextOf)).toEqual([{ job: 'import' }, undefined, undefined])
  })

  test('as copies, which clear empties without giving units back', async () => {
    const limiter = createTestLimiter({ limit: '1/min' })
    await limiter.consume('acme')
    const { decisions } = limiter
    await limiter.consume('globex')
    expect([decisions.length, limiter.decisions.length]).toEqual([1, 2])
    limiter.clear()
    expect([decisions.length, limiter.decisions, limiter.allowed]).toEqual([1, [], []])
    await limiter.consume('acme')
    expect([limiter.denied.length, limiter.decisions.length, decisions.length]).toEqual([1, 1, 1])
  })

  test('by the subject that paid', async () => {
    const limiter = createTestLimiter({ plans: { free: '1/min', pro: '9/min' }, defaultPlan: 'free' })
    for (const id of ['acme', 'acme', 'globex', subjectForIp('192.0.2.1')]) await limiter.consume(id)
    await limiter.consume([{ id: 'globex', plan: 'pro' }, 'acme'])
    await limiter.consume({ id: 7, plan: 'pro' })
    expect([limiter.of('acme').allowed.length, limiter.of('acme').denied.length]).toEqual([1, 1])
    expect(limiter.of({ id: 'globex' }).decisions).toHaveLength(2)
    expect(limiter.of('7').decisions).toHaveLength(1)
    expect(limiter.of('192.0.2.1').decisions).toHaveLength(1)
    expect(limiter.of('nobody')).toEqual({ decisions: [], allowed: [], denied: [] })
    expect(() => limiter.of('')).toThrow(expect.objectContaining({ code: 'ERR_TOLLGATE_SUBJECT' }))
  })

  test('which refund and settle take', async () => {
    const limiter = createTestLimiter({ limit: '2/min' })
    await limiter.consume('acme', { cost: 2 })
    expect(await limiter.refund(limiter.decisions[0]!)).toBe(true)
    expect(limiter.peek('acme')).toMatchObject({ limits: [{ remaining: 2 }] })
  })
})

describe('wherever a limiter is used', () => {
  test('it is the limiter that createLimiter makes, with its internals', () => {
    const [limiter, usual] = [createTestLimiter({ limit: '1/min' }), createLimiter({ limit: '1/min' })]
    expect(Object.getPrototypeOf(limiter)).toBe(Object.getPrototypeOf(usual))
    const names = (one: Limiter): string[] => Object.keys(internalsOf(one)).sort()
    expect(names(limiter)).toEqual(names(usual))
    expect(internalsOf(limiter).onTop).toBeDefined()
    expect(limiter.on('limited', () => {})).toBe(limiter)
  })

  test('over HTTP it records each request, also those that a route decides again, with what eventContext gives', async () => {
    const limiter = createTestLimiter({ limit: '3/min' })
    const http = createHttpLimiter<{ id: string }, object>(httpAdapter(), {
      ...{ limiter, identify: ({ id }) => id, blockList: ({ id }) => id === 'evil' },
      eventContext: ({ id }) => ({ of: id }),
    })
    for (const id of ['acme', 'globex', 'evil']) await http.admit({ id }, {})
    expect(limiter.decisions.map(({ subject }) => subject.id)).toEqual(['acme', 'globex'])
    expect(limiter.decisions.map(limiter.contextOf)).toEqual([{ of: 'acme' }, { of: 'globex' }])
    const request = { id: 'initech' }
    expect(await http.admit(request, {})).toBe(true)
    expect(await http.route({ cost: 4 }).admit(request, {})).toBe(false)
    expect(limiter.of('initech').decisions).toMatchObject([
      { allowed: true, cost: 1 },
      { allowed: false, cost: 4 },
    ])
  })
})
