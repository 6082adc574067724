// Requests that are decided in several steps: on several shards of a cluster, or by a store that is not atomic.
import { createHook } from 'node:async_hooks'
import { stat } from 'node:fs/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { eventually } from '@tollgate/testing'
import { createLimiter, memoryStore, type Limiter, type LimiterOptions, type Store } from '../../src/index.js'
import { START_MS } from '../support/benches.js'
import { comesToStay } from '../support/outage.js'
import { clusterStore, idsApart, recorded } from '../support/shards.js'
import { asyncStore } from '../support/stores.js'

const now = (): number => START_MS
const [ORG, USER, ...OTHERS] = idsApart(8) as [string, string, ...string[]]

const limiterOn = (store: Store, options: Partial<LimiterOptions> = {}): Limiter =>
  createLimiter({
    limit: '100/min',
    store,
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
    warnings: false,
    ...options,
  } as LimiterOptions)
const leftOf = async (limiter: Limiter, id: string, plan?: string): Promise<number> =>
  (await limiter.peek({ id, ...(plan !== undefined && { plan }) })).limits[0]?.remaining ?? -1

const kinds: [string, (inner?: Store) => Store][] = [
  ['a cluster', (inner) => clusterStore({}, inner ?? memoryStore({ now }))],
  ['a store that is not atomic', (inner) => asyncStore({ atomic: false }, inner ?? memoryStore({ now }))],
]

/** Answers after a varying number of turns of the event loop, so that requests overtake one another. */
function jittery(store: Store): Store {
  let seed = 1
  const consume: Store['consume'] = async (batch, call) => {
    seed = (seed * 16_807) % 2_147_483_647
    for (let i = seed % 7; i > 0; i -= 1) await turn()
    return store.consume(batch, call)
  }
  return { ...store, consume }
}

describe.each(kinds)('%s', (_, make) => {
  test('requests for a and b race with requests for b and a, one unit an hour each: one passes', async () => {
    const limiter = limiterOn(jittery(make()), { limit: '1/h' })
    for (let round = 0; round < 40; round += 1) {
      const [a, b] = idsApart(2, `round-${round}-`) as [string, string]
      const asked = [0, 1, 2, 3].map((i) => limiter.consume(i % 2 ? [a, b] : [b, a]))
      const allowed = (await Promise.all(asked)).filter((decision) => decision.allowed)
      expect(allowed).toHaveLength(1)
      await comesToStay(async () => (await leftOf(limiter, a)) + (await leftOf(limiter, b)), 0)
    }
  })

  test("sixteen requests at once of organisation and user: the user's limit holds, and no more units count", async () => {
    const plans = { org: '1000/h', user: '50/s burst 1' } as const
    const limiter = limiterOn(jittery(make()), { plans, limit: undefined as never })
    const subjects = [
      { id: ORG, plan: 'org' },
      { id: USER, plan: 'user' },
    ]
    const decisions = await Promise.all(Array.from({ length: 16 }, () => limiter.consume(subjects)))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(1)
    await comesToStay(() => leftOf(limiter, ORG, 'org'), 999)
    for (const { allowed, violated, limits, retryAfterMs } of decisions) {
      if (allowed) continue
      // Only the user's limit, and no limits that were looked up afterwards.
      expect([violated, limits.length, retryAfterMs]).toEqual([['user.second'], 1, 20])
    }
  })

  test('the narrowest step is asked first, and when it denies, the others are not asked', async () => {
    const { store, asked } = recorded(make())
    const plans = { wide: '1000/h', middle: '50/min', narrow: '2/min' } as const
    const limiter = limiterOn(store, { plans, limit: undefined as never })
    const subjects = Object.keys(plans).map((plan, i) => ({ id: OTHERS[i] as string, plan }))
    const [wide, middle, narrow] = OTHERS
    expect((await limiter.consume(subjects, { cost: 2 })).allowed).toBe(true)
    expect(asked).toEqual([`all ${narrow}:2`, `all ${middle}:2`, `all ${wide}:2`])
    expect(await limiter.consume(subjects)).toMatchObject({ allowed: false, violated: ['narrow.minute'] })
    expect(asked.slice(3)).toEqual([`all ${narrow}:1`])
  })

  test('units taken from others go back once when one step denies', async () => {
    const inner = memoryStore({ now })
    const limiter = limiterOn(make(inner), {
      plans: { few: '2/min', many: '5/min' },
      limit: undefined as never,
    })
    const few = { id: ORG, plan: 'few' }
    const many = { id: USER, plan: 'many' }
    await limiter.consume(many, { cost: 5 })
    for (let i = 0; i < 3; i += 1) {
      const denied = await limiter.consume([few, many])
      expect(denied).toMatchObject({ allowed: false, violated: ['many.minute'], limits: [{ remaining: 0 }] })
      await comesToStay(() => leftOf(limiter, ORG, 'few'), 2)
    }
  })

  test('a joint refund gives everything back, and a settlement what was too much', async () => {
    const limiter = limiterOn(make())
    const three = [ORG, USER, OTHERS[0] as string]
    const left = (): Promise<number[]> => Promise.all(three.map((id) => leftOf(limiter, id)))
    const decision = await limiter.consume(three, { cost: 3 })
    expect(await left()).toEqual([97, 97, 97])
    expect(await limiter.refund(decision)).toBe(true)
    expect(await left()).toEqual([100, 100, 100])
    const other = await limiter.consume(three, { cost: 9 })
    expect(await limiter.settle(other, 4)).toBe(4)
    expect(await left()).toEqual([96, 96, 96])
  })

  test('settling for more sends one request per step, and takes as much as fits the fullest', async () => {
    const { store, asked } = recorded(make())
    const limiter = limiterOn(store)
    await limiter.consume(USER, { cost: 95 })
    const both = await limiter.consume([ORG, USER])
    asked.length = 0
    expect(await limiter.settle(both, 50)).toBe(5)
    expect(asked.every((one) => one.startsWith('upTo '))).toBe(true)
    expect(asked).toHaveLength(2)
    await comesToStay(() => leftOf(limiter, ORG), 95)
    expect(await leftOf(limiter, USER)).toBe(0)
  })

  test.each([
    ['closed', [100, 100, 100, 100]],
    // The first step was let pass, and stays counted when the store counts it late.
    ['open', [99, 100, 100, 100]],
    // The first step is counted late and given back, and all steps are charged.
    ['local', [99, 99, 99, 99]],
  ] as const)(
    '%s: after the deadline nothing is sent, and late units stay counted only if the request passed',
    async (onStoreFailure, left) => {
      const asked: string[] = []
      const release: (() => void)[] = []
      const inner = make()
      let isSlow = true
      let counted = 0
      const consume: Store['consume'] = async (batch, call) => {
        if (batch[0]?.grant !== 'all') return inner.consume(batch, call)
        asked.push(...batch.map(({ parts }) => parts[0]?.key ?? ''))
        if (isSlow) await new Promise<void>((resolve) => release.push(resolve))
        counted += 1
        return inner.consume(batch, call)
      }
      const options = { deadlineMs: 20, onStoreFailure, local: { instances: 1 } }
      const limiter = limiterOn({ ...inner, consume }, options)
      const four = OTHERS.slice(0, 4).toSorted()
      expect(await limiter.consume(four)).toMatchObject({
        allowed: onStoreFailure !== 'closed',
        source: onStoreFailure,
      })
      expect(asked).toEqual(four.slice(0, 1))
      isSlow = false
      for (const go of release) go()
      await eventually(() => counted === 1)
      for (const [at, id] of four.entries()) await comesToStay(() => leftOf(limiter, id), left[at] ?? -1)
      expect(asked).toEqual(four.slice(0, 1))
    },
  )

  // With a timer of their own, calls could end first: then the next step would be sent after the deadline.
  test('a request and its calls end by one timer', async () => {
    const limiter = limiterOn(make())
    const made: string[] = []
    const hook = createHook({ init: (_, type) => void made.push(type) }).enable()
    await limiter.consume(OTHERS.slice(0, 4))
    hook.disable()
    expect(made.filter((type) => type === 'Timeout')).toHaveLength(1)
  })

  test('all steps share one deadline', async () => {
    const inner = make()
    const asked: string[] = []
    let counted = 0
    const consume: Store['consume'] = async (batch, call) => {
      asked.push(...batch.map(({ parts }) => parts[0]?.key ?? ''))
      await new Promise((resolve) => setTimeout(resolve, 60))
      counted += 1
      return inner.consume(batch, call)
    }
    const limiter = limiterOn({ ...inner, consume }, { deadlineMs: 100 })
    const all = [ORG, USER, ...OTHERS]
    expect((await limiter.consume(all)).source).toBe('closed')
    const sent = asked.length
    // Eight steps of 60 ms take 480 ms: with a deadline of 100 ms each, all would be sent. A busy process may send one more than two.
    expect(sent).toBeLessThan(all.length)
    await eventually(() => counted === sent)
    for (const id of asked.slice(0, sent)) await comesToStay(() => leftOf(limiter, id), 100)
    expect(asked).toHaveLength(sent)
  })

  test('a process that was busy for longer than the deadline uses the reply that has arrived', async () => {
    const inner = make()
    let calls = 0
    const consume: Store['consume'] = async (batch, call) => {
      const answers = inner.consume(batch, call)
      const replied = stat('.')
      calls += 1
      // In the last of two steps: the reply has arrived before the deadline's timer runs.
      if (calls === 2) for (const until = performance.now() + 1000; performance.now() < until;);
      await replied
      return answers
    }
    const limiter = limiterOn({ ...inner, consume }, { deadlineMs: 300 })
    expect((await limiter.consume([ORG, USER])).source).toBe('store')
  })
})

test('on a cluster, everything of one subject is one step: its plan, its group and stacked limits', async () => {
  const { store, asked } = recorded(clusterStore())
  const limiter = limiterOn(store, { limit: '5/min' })
  const exports = limiter.scope({ group: 'exports', limit: '9/min', stacked: { guard: '2/min' } })
  expect((await exports.consume(ORG, { cost: 2 })).limits.map(({ remaining }) => remaining)).toEqual([7, 0])
  const denied = await exports.consume(ORG)
  expect([denied.allowed, denied.limits.map(({ remaining }) => remaining)]).toEqual([false, [7, 0]])
  expect(asked).toEqual([`all ${ORG}*exports:2+${ORG}!guard:2`, `all ${ORG}*exports:1+${ORG}!guard:1`])
})

describe('settling for more while the store fails', () => {
  test.each(['closed', 'open'] as const)(
    '%s: it returns the old cost, and units that are counted late go back',
    async (policy) => {
      const inner = memoryStore({ now })
      const late: (() => void)[] = []
      const consume: Store['consume'] = async (batch) => {
        if (batch[0]?.grant !== 'upTo') return inner.consume(batch)
        const answers = inner.consume(batch)
        await new Promise<void>((resolve) => late.push(resolve))
        return answers
      }
      const limiter = limiterOn(asyncStore({ consume }, inner), { deadlineMs: 20, onStoreFailure: policy })
      const decision = await limiter.consume(ORG, { cost: 5 })
      expect(await limiter.settle(decision, 12)).toBe(5)
      expect(await leftOf(limiter, ORG)).toBe(88)
      for (const go of late) go()
      await comesToStay(() => leftOf(limiter, ORG), 95)
    },
  )

  test('local: it returns what this process admitted, and the store is charged for that', async () => {
    const inner = memoryStore({ now })
    const consume: Store['consume'] = async (batch) => {
      if (batch[0]?.grant === 'upTo') throw new Error('down')
      return inner.consume(batch)
    }
    const options = { onStoreFailure: 'local', local: { instances: 1 } } as const
    const limiter = limiterOn(asyncStore({ consume }, inner), options)
    const decision = await limiter.consume(ORG, { cost: 5 })
    expect(await limiter.settle(decision, 12)).toBe(12)
    await comesToStay(() => leftOf(limiter, ORG), 88)
    const most = await limiter.consume(ORG)
    expect(await limiter.settle(most, 500)).toBe(88)
    await eventually(() => expect(limiter.stats().reconciled).toEqual({ units: 94, dropped: 0 }))
  })
})
