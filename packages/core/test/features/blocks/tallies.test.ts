// Denials that a process answers from memory count towards a block, each once, whatever becomes of the replies.
import { createLimiter, memoryStore, type Decision, type Limiter } from '../../../src/index.js'
import { Tallies } from '../../../src/features/denials/tallies.js'
import type { Request } from '../../../src/requests/request.js'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'
import type { StoreRequest } from '../../../src/stores/contract.js'
import { START_MS } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'
import { blockingAfter, setOf } from '../../support/store-requests.js'

const blockAfter = { denials: 20, within: '1min', for: ['5min'] } as const
const acme = { id: 'acme', plan: 'free' }

/** A limiter whose store counts every call, and loses replies while `isLosing`. */
function world(inner = new ProcessStore(1000, () => clock.now)): {
  readonly limiter: Limiter
  readonly calls: StoreRequest[]
  readonly lossy: { isLosing: boolean }
  counted(): number
} {
  const calls: StoreRequest[] = []
  const lossy = { isLosing: false }
  const testClock = (): number => clock.now
  const store = asyncStore(
    {
      testClock,
      blocks: true,
      consume: async (batch) => {
        calls.push(...batch)
        const answers = inner.consume(batch)
        if (lossy.isLosing) throw new Error('the reply was lost')
        return answers
      },
    },
    inner,
  )
  const limiter = createLimiter({
    plans: { free: { limits: '2/min', blockAfter } },
    store,
    denials: { recheckMs: 1000 },
    onStoreFailure: 'closed',
    local: { instances: 1 },
    warnings: false,
  })
  const counted = (): number => {
    const kept = inner.kept(calls[0]?.parts[0]?.key ?? '') as { denials?: { count: number } } | undefined
    return kept?.denials?.count ?? 0
  }
  return { limiter, calls, lossy, counted }
}

let clock = { now: START_MS }
beforeEach(() => {
  clock = { now: START_MS }
})

async function consume(limiter: Limiter, times: number): Promise<Decision[]> {
  const all: Decision[] = []
  for (let i = 0; i < times; i += 1) all.push(await limiter.consume(acme))
  return all
}

test('the request that asks the store again reports what was denied from memory', async () => {
  const { limiter, counted } = world()
  const sources = (await consume(limiter, 8)).map(({ source }) => source)
  expect(sources).toEqual(['store', 'store', 'store', 'cache', 'cache', 'cache', 'cache', 'cache'])
  expect(counted()).toBe(1)
  clock.now += 1000
  await consume(limiter, 4)
  expect(counted()).toBe(7)
  clock.now += 1000
  await consume(limiter, 1)
  expect(counted()).toBe(11)
})

test('a flood asks the store no more often than without the option, and is blocked', async () => {
  const { limiter, calls } = world()
  await consume(limiter, 3)
  const before = calls.length
  const all: Decision[] = []
  for (let i = 0; i < 20; i += 1) {
    all.push(...(await consume(limiter, 10)))
    clock.now += 250
  }
  expect(calls.length - before).toBeLessThanOrEqual(5)
  expect(all.findIndex(({ reason }) => reason === 'blocked')).toBeLessThan(45)
  const last = all.at(-1) as Decision
  expect(last).toMatchObject({ reason: 'blocked', violated: [], limits: [{ remaining: 0 }] })
  // A remembered block tells the same wait as the store.
  clock.now -= 250
  const { retryAfterMs } = (await consume(limiter, 1))[0] as Decision
  expect(retryAfterMs).toBe((await limiter.peek(acme)).retryAfterMs)
})

test('a burst with enough denials is blocked at once, by one more call', async () => {
  const { limiter, calls } = world()
  const before = calls.length
  const all = await consume(limiter, 40)
  expect(all.findIndex(({ reason }) => reason === 'blocked')).toBe(2 + 1 + 20)
  expect(calls.length - before).toBe(4)
  clock.now += 60_000
  expect(await consume(limiter, 1)).toMatchObject([{ reason: 'blocked' }])
})

test('of two subjects, the one with enough denials is blocked while the other is denied from memory', async () => {
  const { limiter } = world()
  const globex = { id: 'globex', plan: 'free' }
  await consume(limiter, 3)
  await consume(limiter, 15)
  clock.now += 900
  for (let i = 0; i < 3; i += 1) await limiter.consume(globex)
  const both: Decision[] = []
  for (let i = 0; i < 10; i += 1) both.push(await limiter.consume([acme, globex]))
  expect(both.findIndex(({ reason }) => reason === 'blocked')).toBe(5)
})

test('law 11: a report whose reply was lost counts once', async () => {
  const { limiter, counted, lossy, calls } = world()
  await consume(limiter, 8)
  clock.now += 1000
  lossy.isLosing = true
  expect((await limiter.consume(acme)).source).toBe('closed')
  lossy.isLosing = false
  expect(counted()).toBe(7)
  await consume(limiter, 2)
  expect(counted()).toBe(7)
  clock.now += 1000
  await consume(limiter, 1)
  expect(calls.at(-1)?.parts[0]?.tally).toMatchObject({ number: 1, total: 7 })
  expect(counted()).toBe(10)
})

test('denials that were reported too late to count in the time are dropped', async () => {
  const { limiter, counted, calls } = world()
  await consume(limiter, 8)
  clock.now += 60_000
  await consume(limiter, 3)
  expect(calls.flatMap(({ parts }) => parts[0]?.tally ?? [])).toEqual([])
  expect(counted()).toBe(1)
})

test('a reset and a lifted block forget what was not reported', async () => {
  const { limiter, counted } = world()
  await consume(limiter, 8)
  await limiter.reset(acme)
  await consume(limiter, 3)
  clock.now += 1000
  await consume(limiter, 1)
  expect(counted()).toBe(2)
})

describe('tallies', () => {
  const set = blockingAfter(setOf('2/min'), { denials: 5, withinUs: 60_000_000, forUs: [1_000_000] })
  const request = (key: string): Request => ({ parts: [{ key, set, cost: 1 }] }) as unknown as Request
  const tallyIn = ({ parts }: Request): unknown => parts[0]?.tally

  test('of two reports under way, only the answer to the later one begins a new tally', () => {
    const tallies = new Tallies('proc-A', 10)
    tallies.count('k', 0)
    const first = tallies.report(request('k'), 1)
    tallies.count('k', 2)
    const second = tallies.report(request('k'), 3)
    expect(tallyIn(second)).toEqual({ by: 'proc-A', number: 1, total: 2, ageUs: 3000 })
    tallies.counted('k', tallyIn(first) as never)
    expect(tallyIn(tallies.report(request('k'), 3))).toEqual(tallyIn(second))
    tallies.count('k', 4)
    tallies.counted('k', tallyIn(second) as never)
    expect(tallyIn(tallies.report(request('k'), 5))).toEqual({
      by: 'proc-A',
      number: 2,
      total: 1,
      ageUs: 2000,
    })
  })

  test('nothing is kept of what was counted, and no more keys than asked for', () => {
    const tallies = new Tallies('proc-A', 10)
    for (let i = 0; i < 20; i += 1) tallies.count(`k${i}`, 0)
    expect(tallies.size).toBe(10)
    for (let i = 0; i < 20; i += 1) {
      const tally = tallyIn(tallies.report(request(`k${i}`), 1))
      if (tally) tallies.counted(`k${i}`, tally as never)
    }
    expect(tallies.size).toBe(0)
  })
})

test('the memory store counts at once, without tallies', async () => {
  const limiter = createLimiter({
    plans: { free: { limits: '2/min', blockAfter } },
    store: memoryStore({ now: () => clock.now }),
  })
  expect((await consume(limiter, 22)).filter(({ reason }) => reason === 'blocked')).toHaveLength(1)
})
