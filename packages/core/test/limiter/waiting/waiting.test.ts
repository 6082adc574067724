// Requests that wait in line: who waits, in which order, and what becomes of places that nobody uses.
import { getEventListeners } from 'node:events'
import type { PlanInput } from '../../../src/index.js'
import { bound, leftOf, sourcesOf, WaitingBench } from './waiting-bench.js'

/** One request at once, then one in 100 ms; up to two wait. */
const LINE: PlanInput = { limits: '10/s burst 1', wait: { maxDelay: 200 } }
/** Five at once, and five more when their second is over. */
const WINDOW: PlanInput = { limits: '5/s', wait: { maxDelay: '1s' } }

let bench: WaitingBench
beforeEach(() => {
  bench = new WaitingBench()
})
afterEach(() => bench.end())

describe('who waits', () => {
  test('what fits is answered at once; what does not waits for its place; what would wait too long is denied', async () => {
    const limiter = bench.limiter(LINE)
    const sent = bench.sendMany(limiter, 4, 'acme')
    await bench.answersAfter(0, 2)
    expect(sourcesOf(sent)).toEqual(['store true', undefined, undefined, 'store false'])
    expect(sent[3]?.decision).toMatchObject({
      reason: 'quota-exceeded',
      violated: ['second'],
    })
    expect(sent[3]?.decision?.retryAfterMs).toBeGreaterThanOrEqual(300)
    expect(limiter.stats().waiting).toMatchObject({ now: 2, booked: 2, refused: 1 })
    expect(await bench.answersAfter(100, 1)).toEqual(['1'])
    expect(await bench.answersAfter(100, 1)).toEqual(['2'])
    expect(sent[2]?.decision).toEqual(
      expect.objectContaining({
        allowed: true,
        source: 'place',
        limits: [],
        violated: [],
        retryAfterMs: 0,
        waitedMs: 200,
      }),
    )
    expect(limiter.stats()).toMatchObject({
      waiting: { now: 0, booked: 2, admitted: 2, left: 0, late: 0, closed: 0, refused: 1 },
      decisions: { store: { allowed: 1, denied: 1 }, place: { allowed: 2, denied: 0 } },
    })
  })

  test('with memory what fits is a value, and only what waits is a promise', async () => {
    const limiter = bench.limiter(LINE)
    expect(limiter.consume('acme')).toMatchObject({ allowed: true })
    const waiting = limiter.consume('acme')
    expect(waiting).toBeInstanceOf(Promise)
    bench.pass(100)
    expect(await waiting).toMatchObject({ allowed: true, source: 'place' })
  })

  test('a cost that never fits does not wait', () => {
    expect(bench.limiter(LINE).consume('acme', { cost: 2 })).toMatchObject({
      allowed: false,
      reason: 'cost-exceeds-quota',
      retryAfterMs: null,
    })
  })

  test('no more of a subject than maxWaiting says, over all processes', async () => {
    const plan: PlanInput = { limits: '5/s', wait: { maxDelay: '1s', maxWaiting: 3 } }
    const [one, two] = [bench.limiter(plan), bench.limiter(plan)]
    const sent = [...bench.sendMany(one, 7, 'acme'), ...bench.sendMany(two, 3, 'acme')]
    await bench.answersAfter(0, 7)
    expect(sourcesOf(sent).filter((source) => source === 'store false')).toHaveLength(2)
    expect(one.stats().waiting.now + two.stats().waiting.now).toBe(3)
  })

  test('no more than a quarter of the room for one subject, and no more than the room for all', async () => {
    const limiter = bench.limiter({ limits: '2000/s burst 1', wait: { maxDelay: '1s', maxWaiting: 1000 } })
    for (const id of ['a', 'b', 'c', 'd']) bench.sendMany(limiter, 260, id)
    bench.sendMany(limiter, 5, 'e')
    // One of each passes at once; nine of each and four of the last find no room.
    await bench.answersAfter(0, 4 * 10 + 5)
    expect(limiter.stats().waiting).toMatchObject({ now: 1000, booked: 1000, refused: 4 * 9 + 5 })
    const allowed = bench.answered.filter(({ decision }) => decision?.allowed)
    expect(allowed).toHaveLength(5)
  })

  test('a request in several steps does not: its places would have different times', async () => {
    const limiter = bench.limiter(LINE, { store: bound(bench.store, { atomic: false }) })
    await limiter.consume(['acme', 'user'])
    expect(await limiter.consume(['acme', 'user'])).toMatchObject({ allowed: false, source: 'store' })
  })

  test('with a stacked limit only while that has room', async () => {
    const limiter = bench.limiter(WINDOW)
    const place = limiter.scope({ stacked: { export: '6/min' } })
    for (let i = 0; i < 5; i += 1) expect(place.consume('acme')).toMatchObject({ allowed: true })
    const waiting = place.consume('acme')
    expect(waiting).toBeInstanceOf(Promise)
    expect(place.consume('acme')).toMatchObject({ allowed: false, violated: ['second', 'export.minute'] })
    bench.pass(1000)
    expect(await waiting).toMatchObject({ allowed: true, source: 'place' })
  })

  test('in a group as on the plan', async () => {
    const search = bench.limiter(WINDOW).scope({ group: 'search' })
    for (let i = 0; i < 5; i += 1) await search.consume('acme')
    const waiting = search.consume('acme')
    bench.pass(1000)
    expect(await waiting).toMatchObject({ source: 'place' })
  })

  test('a reservation never waits', async () => {
    const limiter = bench.limiter(LINE)
    await limiter.consume('acme')
    expect((await limiter.reserve('acme', { for: '1s' })).allowed).toBe(false)
  })
})

describe('order', () => {
  test('those of one subject go in the order in which they came, over two limiters', async () => {
    const plan: PlanInput = { limits: '10/s burst 1', wait: { maxDelay: '1s' } }
    const both = [bench.limiter(plan), bench.limiter(plan)] as const
    const names = Array.from({ length: 9 }, (_, i) => `${i}`)
    for (const [i, name] of names.entries()) bench.send(both[i % 2] as (typeof both)[0], name, 'acme')
    const order = await bench.answersAfter(0, 1)
    while (order.length < names.length) order.push(...(await bench.answersAfter(100, 1)))
    expect(order).toEqual(names)
  })

  test('a place that is given back goes to the next newcomer, and the times that were told stay', async () => {
    const [limiter, other] = [bench.limiter(LINE), bench.limiter(LINE)]
    const leaving = new AbortController()
    bench.send(limiter, 'first', 'acme')
    bench.send(limiter, 'leaves', 'acme', { signal: leaving.signal })
    bench.send(limiter, 'stays', 'acme')
    bench.send(other, 'denied', 'acme')
    expect(await bench.answersAfter(0, 2)).toEqual(['first', 'denied'])
    leaving.abort()
    bench.send(other, 'newcomer', 'acme')
    expect(await bench.answersAfter(0, 1)).toEqual(['leaves'])
    expect(await bench.answersAfter(100, 1)).toEqual(['newcomer'])
    expect(await bench.answersAfter(100, 1)).toEqual(['stays'])
  })
})

test('where the clock of a test goes back, no time passes for those in line', async () => {
  const limiter = bench.limiter(LINE)
  bench.sendMany(limiter, 2, 'acme')
  await bench.answersAfter(0, 1)
  bench.pass(-3_600_000)
  bench.send(limiter, 'another', 'another')
  expect(await bench.answersAfter(0, 1)).toEqual(['another'])
  expect(await bench.answersAfter(100, 1)).toEqual(['1'])
})

describe('leaving', () => {
  test('a signal that has aborted throws its reason, and nothing is taken', async () => {
    const limiter = bench.limiter(WINDOW)
    const signal = AbortSignal.abort(new Error('gone'))
    expect(() => limiter.consume('acme', { signal })).toThrow('gone')
    expect(await leftOf(limiter)).toBe(5)
  })

  test('one that aborts while the plan is looked up rejects, and nothing is taken', async () => {
    const leaving = new AbortController()
    const planOf = async (): Promise<string> => {
      leaving.abort(new Error('gone'))
      return 'batch'
    }
    const limiter = bench.limiter(WINDOW, { planOf })
    await expect(limiter.consume('acme', { signal: leaving.signal })).rejects.toThrow('gone')
    expect(await leftOf(limiter)).toBe(5)
  })

  test('one that aborts in line rejects with its reason; afterwards it does nothing', async () => {
    const limiter = bench.limiter(WINDOW)
    const leaving = new AbortController()
    const { signal } = leaving
    const sent = bench.sendMany(limiter, 6, 'acme', { signal })
    await bench.answersAfter(0, 5)
    leaving.abort(new Error('gone'))
    await bench.answersAfter(0, 1)
    expect(sent[5]?.error).toMatchObject({ message: 'gone' })
    expect(limiter.stats().waiting).toMatchObject({ now: 0, booked: 1, left: 1 })
    expect(bench.told.map(({ kind, delayMs }) => [kind, delayMs])).toEqual([
      ['booked', 1000],
      ['left', 1000],
    ])
    bench.pass(1000)
    expect(await leftOf(limiter)).toBe(5)
  })

  test('many can share one signal, which has one listener while any of them waits', async () => {
    const limiter = bench.limiter(WINDOW)
    const leaving = new AbortController()
    const { signal } = leaving
    const sent = bench.sendMany(limiter, 10, 'acme', { signal })
    await bench.answersAfter(0, 5)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    leaving.abort(new Error('gone'))
    await bench.answersAfter(0, 5)
    expect(sent.slice(5).map(({ error }) => (error as Error).message)).toEqual(Array(5).fill('gone'))
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('units that a place took at once from a stacked limit go back, too', async () => {
    const limiter = bench.limiter(WINDOW)
    const place = limiter.scope({ stacked: { export: '6/min' } })
    for (let i = 0; i < 5; i += 1) await place.consume('acme')
    const leaving = new AbortController()
    const waiting = place.consume('acme', { signal: leaving.signal })
    leaving.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    bench.pass(1000)
    expect((await place.peek('acme')).limits.map(({ remaining }) => remaining)).toEqual([5, 1])
  })

  test('what is no signal is refused', () => {
    const signal = { aborted: false } as AbortSignal
    expect(() => bench.limiter(WINDOW).consume('acme', { signal })).toThrow(
      'signal: got an object with aborted, expected an AbortSignal',
    )
  })
})

describe('a place that is over', () => {
  test('one that comes too late asks again, and its units count once', async () => {
    const limiter = bench.limiter({ limits: '5/s', wait: { maxDelay: '1s', maxWaiting: 10 } })
    bench.sendMany(limiter, 10, 'acme')
    await bench.answersAfter(0, 5)
    // The places are for the end of the second, and 50 ms more.
    bench.pass(1051)
    await bench.answersAfter(0, 5)
    expect(limiter.stats()).toMatchObject({ waiting: { booked: 5, late: 5, admitted: 0, now: 0 } })
    expect(bench.answered.filter(({ decision }) => decision?.allowed)).toHaveLength(10)
    expect(await leftOf(limiter)).toBe(0)
    bench.pass(1000)
    expect(await leftOf(limiter)).toBe(5)
  })

  test('with time left it gets another place', async () => {
    const limiter = bench.limiter({ limits: '10/s burst 1', wait: { maxDelay: '1s' } })
    const sent = bench.sendMany(limiter, 2, 'acme')
    await bench.answersAfter(0, 1)
    bench.pass(210)
    await bench.answersAfter(0, 1)
    expect(sourcesOf(sent)).toEqual(['store true', expect.stringContaining('true')])
    expect(bench.told.map(({ kind }) => kind).slice(0, 2)).toEqual(['booked', 'late'])
  })

  test('without time left it is decided as any other, and waits no more', async () => {
    const limiter = bench.limiter(LINE)
    const sent = bench.sendMany(limiter, 3, 'acme')
    await bench.answersAfter(0, 1)
    await bench.answersAfter(300, 2)
    expect(limiter.stats().waiting).toMatchObject({ booked: 2, late: 2, now: 0 })
    expect(sourcesOf(sent)).toEqual(Array(3).fill(expect.stringMatching(/^store/)))
  })
})

describe('closing', () => {
  test('answers all who wait, and their units go back', async () => {
    const [limiter, other] = [bench.limiter(WINDOW), bench.limiter(WINDOW)]
    const sent = bench.sendMany(limiter, 10, 'acme')
    await bench.answersAfter(0, 5)
    bench.pass(400)
    await limiter.close()
    await bench.answersAfter(0, 0)
    const denied = sent.slice(5).map(({ decision }) => decision)
    expect(denied).toEqual(
      Array(5).fill(
        expect.objectContaining({
          allowed: false,
          source: 'place',
          reason: 'quota-exceeded',
          violated: ['second'],
          retryAfterMs: 600,
          waitedMs: 400,
        }),
      ),
    )
    expect(limiter.stats().waiting).toMatchObject({ now: 0, closed: 5 })
    bench.pass(600)
    expect(await leftOf(other)).toBe(5)
  })

  test('nobody waits afterwards', async () => {
    const limiter = bench.limiter(WINDOW, { onStoreFailure: 'closed' })
    await limiter.close()
    expect(limiter.consume('acme')).toMatchObject({ allowed: false, source: 'closed' })
  })
})

describe('units of a place', () => {
  test('go back on a refund before and after they entered the limits', async () => {
    const limiter = bench.limiter({ limits: '5/s', wait: { maxDelay: '1s', maxWaiting: 10 } })
    const sent = bench.sendMany(limiter, 7, 'acme')
    await bench.answersAfter(0, 5)
    await bench.answersAfter(1000, 2)
    const [early, late] = [sent[5]?.decision, sent[6]?.decision]
    if (!early || !late) throw new Error('not admitted')
    expect(await leftOf(limiter)).toBe(3)
    expect([await limiter.refund(early), await leftOf(limiter)]).toEqual([true, 4])
    bench.pass(30)
    expect(await leftOf(limiter)).toBe(4)
    expect([await limiter.refund(late), await leftOf(limiter)]).toEqual([true, 5])
    expect([await limiter.refund(early), await limiter.refund(late)]).toEqual([false, false])
  })

  test('can be settled for less, or more', async () => {
    const limiter = bench.limiter({ limits: '5/s', wait: { maxDelay: '1s' } })
    await limiter.consume('acme', { cost: 5 })
    const waiting = limiter.consume('acme', { cost: 3 })
    bench.pass(1000)
    const decision = await waiting
    expect([await limiter.settle(decision, 1), await leftOf(limiter)]).toEqual([1, 4])
    bench.pass(2000)
    await limiter.consume('acme', { cost: 5 })
    const other = limiter.consume('acme', { cost: 3 })
    bench.pass(1000)
    expect([await limiter.settle(await other, 4), await leftOf(limiter)]).toEqual([4, 1])
  })
})
