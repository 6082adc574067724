// Law 8 with reservations and places: they leave nothing behind, and a value stays small however many there are.
import { setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Hold, StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis, START_MS, type Clock } from '../../support/benches.js'
import { shortLimits, storeOfOneKey } from '../../support/one-key-store.js'
import { orderFor, outcomeOf, requestOf, setOf, waiting } from '../../support/store-requests.js'

afterAll(closeBenches)

const ASKED_EVERY_MS = 10

function held(kind: Hold['kind'], n: number, set: LimitSet, cost: number, lengthUs = 300_000): StoreRequest {
  const id = `hold-${String(n).padStart(7, '0')}`
  return { ...requestOf('k', set, cost), hold: { kind, id, lengthUs, slackUs: 20_000, most: 1000 } }
}

function giveBack(n: number, set: LimitSet): StoreRequest {
  const reports = [{ id: `hold-${String(n).padStart(7, '0')}`, used: 0, left: 0 }]
  return orderFor('k', set, { reports })
}

test.each(shortLimits)('a reservation that nobody ends leaves no key: %s', async (_, limit, longestMs) => {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix })
  const { hold } = await outcomeOf(store, held('reservation', 1, setOf(limit), 3))
  const [key = ''] = await sharedRedis().keys(`${prefix}/[^!]*`)
  const endsInMs = (hold?.endsInUs ?? 0) / 1000
  expect(endsInMs).toBeGreaterThanOrEqual(300)
  // The end of a value is kept in whole seconds.
  expect(await sharedRedis().pttl(key)).toBeLessThanOrEqual(endsInMs + longestMs + 1000)
  while ((await sharedRedis().exists(key)) === 1) await sleep(ASKED_EVERY_MS)
})

test.each([
  ['memory', (clock: Clock) => memoryStore({ now: () => clock.now })],
  ['Redis', (clock: Clock) => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => clock.now })],
] as const)('reservations that were asked for other times end at few, none early, in %s', async (_, open) => {
  const clock = { now: START_MS }
  const store = open(clock)
  const set = setOf('1000000/min')
  const ends = new Set<number>()
  for (let n = 0; n < 900; n += 1) {
    clock.now += 7
    const lengthUs = 30_000_000 + 37_001 * ((n * 7) % 900)
    const { at, hold } = await outcomeOf(store, held('reservation', n, set, 1, lengthUs))
    const endsInUs = hold?.endsInUs ?? 0
    expect(endsInUs).toBeGreaterThanOrEqual(lengthUs)
    expect(endsInUs).toBeLessThanOrEqual(lengthUs + lengthUs / 64)
    ends.add(at + endsInUs)
  }
  // Those of 30 to 63 s end at multiples of a quarter or half of 1.05 s: 128 and some.
  expect(ends.size).toBeLessThanOrEqual(256)
})

test.each([1000, 1024, 63_999, 64_000, 65_535, 65_536, 65_537, 2 ** 36 - 1, 2 ** 36])(
  'a reservation of %d µs lasts as long in memory as in Redis',
  async (lengthUs) => {
    const now = (): number => START_MS
    const stores = [memoryStore({ now }), redisStore(sharedRedis(), { prefix: testPrefix(), now })]
    const outcomes = stores.map((store) =>
      outcomeOf(store, held('reservation', 1, setOf('9/min'), 1, lengthUs)),
    )
    const [memory, redis] = (await Promise.all(outcomes)).map(({ hold }) => hold?.endsInUs ?? 0)
    expect(redis).toBe(memory)
    expect(redis).toBeGreaterThanOrEqual(lengthUs)
    expect(redis).toBeLessThanOrEqual(lengthUs + Math.max(lengthUs / 64, 1000))
  },
)

test.each(shortLimits)(
  'the key lives until the units of a place count no more: %s',
  async (_, limit, longestMs) => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const set = waiting(setOf(limit))
    await outcomeOf(store, requestOf('k', set, 5))
    const { at, hold } = await outcomeOf(store, held('place', 1, set, 3))
    const [key = ''] = await sharedRedis().keys(`${prefix}/[^!]*`)
    const answers = await sharedRedis().multi().time().pttl(key).exec()
    const [[seconds, us], leftMs] = (answers ?? []).map(([, answer]) => answer) as [[string, string], number]
    const goneAtMs = Number(seconds) * 1000 + Number(us) / 1000 + leftMs
    const countsUntilMs = (at + (hold?.endsInUs ?? 0)) / 1000 + longestMs
    expect(hold?.delayUs).toBeGreaterThan(0)
    // What is left of a time to live is rounded to a ms, and so is the time of Redis that it is measured from.
    expect(goneAtMs + 2).toBeGreaterThanOrEqual(countsUntilMs)
    expect(goneAtMs).toBeLessThanOrEqual(countsUntilMs + 1000)
    while ((await sharedRedis().exists(key)) === 1) await sleep(ASKED_EVERY_MS)
  },
)

test.each(shortLimits)(
  'after the next write nothing is left of what ended or was given back: %s',
  async (_, limit) => {
    const { store, clock, size } = storeOfOneKey()
    const set = waiting(setOf(limit))
    await outcomeOf(store, requestOf('k', set))
    const alone = await size()
    await outcomeOf(store, held('reservation', 1, set, 2))
    await outcomeOf(store, held('reservation', 2, set, 2))
    await outcomeOf(store, held('place', 3, set, 1))
    expect(await size()).toBeGreaterThan(alone)
    await outcomeOf(store, giveBack(1, set))
    clock.now += 1000
    await outcomeOf(store, requestOf('k', set))
    expect(await size()).toBe(alone)
  },
)

test('a request with a hold that is denied writes nothing', async () => {
  const { store, size } = storeOfOneKey()
  const set = waiting(setOf('5/min'))
  for (const kind of ['reservation', 'place'] as const) {
    const { limits: told } = await outcomeOf(store, held(kind, 1, set, 6))
    expect(told[0]?.wait).toBe(-1)
    expect(await size()).toBe(0)
  }
})

test('a thousand reservations are few groups of 22 bytes each, and so many places are 46 bytes more each', async () => {
  const { store, clock, size } = storeOfOneKey()
  const set = waiting(setOf({ quota: 1000, window: '1s', algorithm: 'token-bucket' }))
  await outcomeOf(store, requestOf('k', set))
  const alone = await size()
  const batch = (kind: Hold['kind'], first: number): StoreRequest[] =>
    Array.from({ length: 100 }, (_, i) => held(kind, first + i, set, 1, 60_000_000))
  for (let n = 0; n < 500; n += 100) {
    clock.now += 1000
    await store.consume(batch('reservation', n))
  }
  // Within 5 s, in steps of half a second.
  expect((await size()) - alone - 4 - 22 * 500).toBeLessThanOrEqual(7 * 38)
  await outcomeOf(store, requestOf('k', set, 500))
  const before = await size()
  await store.consume(batch('place', 1000))
  expect((await size()) - before).toBeLessThanOrEqual(100 * (22 + 38))
})
