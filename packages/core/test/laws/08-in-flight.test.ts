// Law 8 with requests in flight: their keys end by themselves, denied ones leave none, and a value stays small.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Decision, type Limiter } from '../../src/index.js'
import { limitSetOf, SLOTS_KEPT_MS, type StoreRequest } from '../../src/store.js'
import { closeBenches, sharedRedis } from '../support/benches.js'

afterAll(closeBenches)

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

function limiterOn(prefix: string): Limiter {
  const limiter = createLimiter({
    plans: { one: '1 concurrent', three: '3 concurrent' },
    store: redisStore(sharedRedis(), { prefix }),
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
    local: { instances: 1 },
  })
  limiters.push(limiter)
  return limiter
}

const keysOf = async (prefix: string): Promise<string[]> => sharedRedis().keys(`${prefix}*`)

test('a key that counts requests in flight ends with the last of them, at the latest so long after', async () => {
  const prefix = testPrefix()
  const limiter = limiterOn(prefix)
  const who = Array.from({ length: 20 }, (_, i) => ({ id: `user-${i}`, plan: 'three' }))
  const held = (await Promise.all(who.map((one) => limiter.consume(one)))) as Decision[]
  const lives = async (): Promise<number[]> =>
    Promise.all((await keysOf(prefix)).map((key) => sharedRedis().pttl(key)))
  const before = await lives()
  expect(before).toHaveLength(20)
  for (const decision of held) decision.release()
  await eventually(async () => {
    const looks = await Promise.all(who.map((one) => limiter.peek(one)))
    expect(looks.every(({ limits }) => limits[0]?.remaining === 3)).toBe(true)
  })
  for (const ms of [...before, ...(await lives())]) {
    expect(ms).toBeGreaterThan(0)
    expect(ms).toBeLessThanOrEqual(SLOTS_KEPT_MS)
  }
  expect(limiter.stats().inFlight).toBe(0)
})

test('a flood that is denied leaves no key, and nothing of it in flight', async () => {
  const prefix = testPrefix()
  const limiter = limiterOn(prefix)
  const org = { id: 'org', plan: 'one' }
  const held = await limiter.consume(org)
  const flood = Array.from({ length: 300 }, (_, i) =>
    limiter.consume([org, { id: `user-${i}`, plan: 'three' }]),
  )
  const decisions = await Promise.all(flood)
  expect(decisions.filter(({ allowed }) => allowed)).toEqual([])
  expect(await keysOf(prefix)).toHaveLength(1)
  expect(limiter.stats().inFlight).toBe(1)
  held.release()
})

test('a value has one row for each process that is alive, whatever they send', async () => {
  const prefix = testPrefix()
  let now = 1_800_000_000_000
  const store = redisStore(sharedRedis(), { prefix, now: () => now })
  const set = limitSetOf('1000 concurrent')
  const size = async (): Promise<number> => sharedRedis().strlen((await keysOf(prefix))[0] as string)
  const send = async (process: number, held: number, known: number): Promise<void> => {
    const slots = { id: `pr-${String(process).padStart(3, '0')}`, held, known }
    const request: StoreRequest = { shard: 0, grant: 'all', parts: [{ key: 'k', set, cost: 1, slots }] }
    await store.consume([request])
  }
  for (let i = 0; i < 10; i += 1) await send(i, 0, 0)
  const ofTen = await size()
  for (let round = 1; round < 20; round += 1) {
    for (let i = 0; i < 10; i += 1) await send(i, round, round)
  }
  expect(await size()).toBe(ofTen)
  // Processes that start anew have other ids; the rows of the old ones end.
  for (let i = 10; i < 40; i += 1) {
    now += SLOTS_KEPT_MS / 8
    await send(i, 0, 0)
  }
  expect(await size()).toBeLessThanOrEqual(ofTen)
})
