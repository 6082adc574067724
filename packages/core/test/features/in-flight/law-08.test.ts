// Law 8 with requests in flight: their keys end by themselves, denied ones leave none, and a value stays small.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore, type Decision, type Limiter, type PlanInput } from '../../../src/index.js'
import { createLimitSet, SLOTS_KEPT_MS, type StoreRequest } from '../../../src/store.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

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

const keysOf = async (prefix: string): Promise<string[]> => sharedRedis().keys(`${prefix}/[^!]*`)

/** A key ends within a second once nothing of it counts. */
const SECOND_MS = 1000

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
    expect(ms).toBeLessThanOrEqual(SLOTS_KEPT_MS + SECOND_MS)
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

describe('in several steps', () => {
  const user = { id: 'user', plan: 'user' }
  const plansOf = (org: PlanInput): Record<string, PlanInput> => ({ org, user: '1000/min' })

  function stepwise(org: PlanInput): { limiter: Limiter; prefix: string } {
    const prefix = testPrefix()
    const store = { ...asyncStore({ atomic: false }, redisStore(sharedRedis(), { prefix })) }
    const limiter = createLimiter({
      ...{ plans: plansOf(org), store, deadlineMs: 10_000, onStoreFailure: 'closed', denials: false },
      local: { instances: 1 },
    })
    limiters.push(limiter)
    return { limiter, prefix }
  }

  const flood = async (limiter: Limiter): Promise<readonly string[][]> => {
    const violated: string[][] = []
    for (let i = 0; i < 50; i += 1) {
      const decision = await limiter.consume([{ id: 'org', plan: 'org' }, user])
      violated.push([...decision.violated])
    }
    return violated
  }

  test.each<[string, PlanInput]>([
    ['alone', '1 concurrent'],
    ['beside a limit in time', ['2000/min', '1 concurrent']],
  ])('a flood that is denied a slot leaves nothing: %s', async (_, org) => {
    const { limiter, prefix } = stepwise(org)
    const held = await limiter.consume({ id: 'org', plan: 'org' })
    expect(new Set((await flood(limiter)).flat())).toEqual(new Set(['concurrent']))
    expect(await keysOf(prefix)).toHaveLength(1)
    expect((await limiter.peek(user)).limits[0]?.remaining).toBe(1000)
    held.release()
  })

  test('a refund where nothing but requests in flight is counted leaves nothing', async () => {
    const { limiter, prefix } = stepwise('1 concurrent')
    const held = await limiter.consume({ id: 'org', plan: 'org' })
    expect(await limiter.refund(held)).toBe(false)
    expect(await keysOf(prefix)).toHaveLength(1)
    held.release()
  })
})

test('a value has one row for each process that is alive, whatever they send', async () => {
  const prefix = testPrefix()
  let now = 1_800_000_000_000
  const store = redisStore(sharedRedis(), { prefix, now: () => now })
  const set = createLimitSet('1000 concurrent')
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
