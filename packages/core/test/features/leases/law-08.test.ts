// Law 8 with leases: they leave nothing behind, and a value stays small however many there are.
import { setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import { redisStore } from '../../../src/index.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { LeaseOrder, Outcome, Store } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { shortLimits, storeOfOneKey } from '../../support/one-key-store.js'
import { outcomeOf, requestOf, setOf } from '../../support/store-requests.js'

afterAll(closeBenches)

const ASKED_EVERY_MS = 10
const LENGTH_US = 100_000

function idOf(n: number): string {
  return `lease-${String(n).padStart(6, '0')}`
}

function wish(n: number, most: number): LeaseOrder {
  return { reports: [], wish: { id: idOf(n), most, least: 1, share: 1, lengthUs: LENGTH_US, lagUs: 0 } }
}

async function send(store: Store, set: LimitSet, order: LeaseOrder): Promise<Outcome> {
  const parts = [{ key: 'k', set, cost: order.wish?.most ?? 1 }]
  return outcomeOf(store, { shard: 0, grant: 'lease', order, parts })
}

test.each(shortLimits)('a lease that nobody reports leaves no key: %s', async (_, limit, longestMs) => {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix })
  const { lease } = await send(store, setOf(limit), wish(1, 3))
  const [key = ''] = await sharedRedis().keys(`${prefix}/[^!]*`)
  const endsInMs = (lease?.endsInUs ?? 0) / 1000
  const ttl = await sharedRedis().pttl(key)
  // The end of a value is kept in whole seconds.
  expect(ttl).toBeLessThanOrEqual(endsInMs + longestMs + 1000)
  while ((await sharedRedis().exists(key)) === 1) await sleep(ASKED_EVERY_MS)
  expect(endsInMs).toBeGreaterThan(0)
})

test.each(shortLimits)(
  'the key lives until what is out at the end counts no more: %s',
  async (_, limit, longestMs) => {
    const prefix = testPrefix()
    const store = redisStore(sharedRedis(), { prefix })
    const { at, lease } = await send(store, setOf(limit), wish(1, 3))
    const [key = ''] = await sharedRedis().keys(`${prefix}/[^!]*`)
    const answers = await sharedRedis().multi().time().pttl(key).exec()
    const [[seconds, us], leftMs] = (answers ?? []).map(([, answer]) => answer) as [[string, string], number]
    const goneAtMs = Number(seconds) * 1000 + Number(us) / 1000 + leftMs
    // What is left of a time to live is rounded to a ms, and so is the time of Redis that it is measured from.
    expect(goneAtMs + 2).toBeGreaterThanOrEqual((at + (lease?.endsInUs ?? 0)) / 1000 + longestMs)
  },
)

test.each(shortLimits)(
  'after the next write nothing is left of leases that have ended or went back: %s',
  async (_, limit) => {
    const { store, clock, size } = storeOfOneKey()
    const set = setOf(limit)
    await outcomeOf(store, requestOf('k', set))
    const alone = await size()
    await send(store, set, wish(1, 1))
    await send(store, set, wish(2, 1))
    expect(await size()).toBeGreaterThan(alone)
    await send(store, set, { reports: [{ id: idOf(1), used: 0, left: 0 }] })
    clock.now += 500
    await outcomeOf(store, requestOf('k', set))
    expect(await size()).toBe(alone)
  },
)

test('a wish that gets nothing writes nothing', async () => {
  const { store, size } = storeOfOneKey()
  const order = wish(1, 3)
  await send(store, setOf('5/min'), { reports: [], wish: { ...order.wish!, share: 0.1 } })
  expect(await size()).toBe(0)
})

test('leases of a thousand processes are a few groups of 22 bytes each lease', async () => {
  const { store, clock, size } = storeOfOneKey()
  const set = setOf('50000/min', { quota: 100_000, window: '1h', algorithm: 'token-bucket' })
  await outcomeOf(store, requestOf('k', set))
  const alone = await size()
  for (let n = 0; n < 1000; n += 1) {
    clock.now += 0.1
    expect((await send(store, set, wish(n, 3))).limits[0]?.granted).toBe(3)
  }
  const outcome = await outcomeOf(store, requestOf('k', set))
  // Within the length of one lease; the first of them have ended by now.
  const out = outcome.limits[0]?.leased ?? 0
  expect(out).toBeGreaterThan(2500)
  const groups = ((await size()) - alone - 4 - 22 * (out / 3)) / (34 + 8)
  expect(groups).toBeLessThanOrEqual(9)
})
