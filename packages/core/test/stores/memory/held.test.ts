// Expired state leaves while other requests come, at a bounded cost per request; and early evictions are reported.
import { eventually, isDeep } from '@tollgate/testing'
import { setTimeout as sleep } from 'node:timers/promises'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'
import { ask, FIVE, one, part, setOf, storeAt } from './support.js'

/** In s: a window of a minute, and the hour that subjects are kept longer under a test's clock. */
const KEPT_S = 3660
const MONTH = setOf('5/month')

/** Sends one request a second, each with `keys` new subjects, until there were `subjects`. */
let floods = 0
function flood(at: ReturnType<typeof storeAt>, subjects: number, keys: number): void {
  floods += 1
  for (let i = 0; i < subjects; i += keys) {
    at.clock.now += 1000
    one(at.store, ask(...Array.from({ length: keys }, (_, k) => part(`once ${floods}:${i + k}`))))
  }
}

describe.each(isDeep ? [1, 2, 3, 5] : [1, 3])('with %i keys a request', (keys) => {
  const counting = KEPT_S * keys

  test('of 60 000 one-time subjects, few more are held than can still count', () => {
    const at = storeAt()
    flood(at, 60_000, keys)
    expect(at.store.size).toBeGreaterThanOrEqual(counting)
    expect(at.store.size).toBeLessThan(counting * 1.05)
  })

  test('the same holds behind long-lived subjects', () => {
    const at = storeAt()
    const longLived = 20_000
    for (let i = 0; i < longLived; i += 1) one(at.store, ask(part(`long ${i}`, 1, MONTH)))
    let most = 0
    for (let round = 0; round < 6; round += 1) {
      flood(at, 10_000, keys)
      most = Math.max(most, at.store.size)
    }
    expect(at.store.size).toBeGreaterThanOrEqual(longLived)
    expect(most).toBeLessThan((longLived + counting) * 1.5)
  })
})

test('idle subjects leave while one other is busy', () => {
  const { store, clock } = storeAt()
  for (let i = 0; i < 1000; i += 1) one(store, ask(part(`idle ${i}`)))
  clock.now += KEPT_S * 1000
  for (let i = 0; i < 1010; i += 1) one(store, ask(part('busy')))
  expect(store.size).toBe(1)
})

test('units used on other plans are held as long as they can count, and no longer', () => {
  const { store, clock } = storeAt()
  const DAY = setOf('5/d')
  const start = clock.now
  const heldAt = (ms: number): boolean => {
    clock.now = start + ms
    for (let i = 0; i < 300; i += 1) one(store, ask(part('busy')))
    return store.size === 2
  }
  const dayMs = 86_400_000 + 3_600_000
  one(store, ask(part('a', 1, DAY)))
  one(store, ask(part('a')))
  expect(heldAt(dayMs - 1)).toBe(true)
  one(store, ask(part('a')))
  expect(heldAt(dayMs)).toBe(true)
  one(store, ask(part('a')))
  expect([heldAt(dayMs + KEPT_S * 1000 - 1), heldAt(dayMs + KEPT_S * 1000)]).toEqual([true, false])
})

test('a denied, peeked or refunded request adds no subject', () => {
  const { store } = storeAt()
  const outcome = one(store, ask(part('a', 6)))
  store.peek([ask(part('b'))])
  const receipts = [{ units: 1, at: outcome.at, remaining: 5, reset: 0 }]
  store.refund([{ shard: 0, parts: [{ key: 'c', set: FIVE, receipts }] }])
  store.consume([{ shard: 0, grant: 'upTo', parts: [part('full', 1, FIVE), part('d', 6)] }])
  one(store, ask(part('full', 4)))
  store.consume([{ shard: 0, grant: 'upTo', parts: [part('full', 1, FIVE), part('e')] }])
  expect(store.size).toBe(2)
})

test('the subject idle longest goes first, even if one request has more keys than are remembered', () => {
  const { store } = storeAt(undefined, 2)
  for (const key of ['a', 'b', 'a', 'c']) one(store, ask(part(key)))
  const left = (key: string): unknown => store.peek([ask(part(key))])[0]?.limits[0]?.remaining
  expect([left('a'), left('b'), left('c')]).toEqual([3, 5, 4])
  one(store, ask(part('a'), part('d'), part('e')))
  expect([left('a'), left('d'), left('e'), store.size]).toEqual([5, 4, 4, 2])
})

describe('evictions of subjects that still count', () => {
  const use = (store: ProcessStore, from: number, to: number): void => {
    for (let i = from; i < to; i += 1) one(store, ask(part(`s${i}`)))
  }

  test('are reported to listeners, at most once a second', async () => {
    const { store } = storeAt(undefined, 10)
    const at: number[] = []
    const onEvicted = jest.fn(() => void at.push(performance.now()))
    use(store, 0, 15)
    store.observe({ onEvicted })
    use(store, 15, 40)
    use(store, 40, 43)
    expect(onEvicted).not.toHaveBeenCalled()
    await eventually(() => expect(onEvicted.mock.calls).toEqual([[28]]))
    use(store, 43, 44)
    expect(onEvicted.mock.calls).toEqual([[28]])
    await eventually(() => expect(onEvicted.mock.calls).toEqual([[28], [1]]))
    const [first, second] = at as [number, number]
    expect(second - first).toBeGreaterThan(900)
  })

  test('are reported to a listener that leaves, and not after that', async () => {
    const { store } = storeAt(undefined, 1)
    const [first, second] = [jest.fn(), jest.fn()]
    const stop = store.observe({ onEvicted: first })
    use(store, 0, 3)
    store.observe({ onEvicted: second })
    use(store, 3, 4)
    stop()
    expect([first.mock.calls, second.mock.calls]).toEqual([[[3]], []])
    use(store, 4, 6)
    stop()
    await eventually(() => expect(second.mock.calls).toEqual([[3]]))
    expect(first.mock.calls).toEqual([[3]])
  })

  test('do not include subjects that no longer count', () => {
    const { store, clock } = storeAt(undefined, 100)
    const onEvicted = jest.fn()
    const stop = store.observe({ onEvicted })
    use(store, 0, 100)
    // The window is over, but subjects are held longer under a test's clock.
    clock.now += 60_000
    use(store, 100, 150)
    stop()
    expect([store.size, onEvicted.mock.calls]).toEqual([100, []])
  })

  test('are counted even if a test has replaced the timers', () => {
    jest.useFakeTimers({ legacyFakeTimers: true })
    const { store } = storeAt(undefined, 1)
    const onEvicted = jest.fn()
    const stop = store.observe({ onEvicted })
    use(store, 0, 3)
    stop()
    jest.useRealTimers()
    expect(onEvicted.mock.calls).toEqual([[2]])
  })
})

test('a report without listeners does not keep the process alive', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
  await sleep(0)
  const before = timers()
  const store = new ProcessStore(1)
  store.observe({ onEvicted: () => {} })
  for (const key of ['a', 'b', 'c']) one(store, ask(part(key)))
  expect(timers()).toBe(before)
})
