// Whatever frees units in this process ends the denials that it remembers of them: at once, and whatever becomes of the message.
import { eventually, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Consumer,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type Reservation,
  type Store,
} from '../../../src/index.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { idsApart, inFirst, SHARDS } from '../../support/shards.js'
import { asyncStore } from '../../support/stores.js'

const clock = { now: START_MS }
const now = (): number => clock.now
const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(closeBenches)

const stores: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore({ now }),
  Redis: () => redisStore(sharedRedis(), { prefix: testPrefix(), now }),
}

/** What becomes of the messages that free units: `before` is awaited before they are counted, `after` before they are answered. */
interface Messages {
  /** Whether requests fail. */
  isDown?: boolean
  before?: Promise<unknown> | undefined
  after?: Promise<unknown> | undefined
}

function start(
  store: Store,
  options: Partial<LimiterOptions> = {},
  abilities: Partial<Store> = {},
): { limiter: Limiter; messages: Messages } {
  const messages: Messages = {}
  const freeing = async <T>(count: () => T): Promise<Awaited<T>> => {
    await messages.before
    const answer = await count()
    await messages.after
    return answer
  }
  const change: Partial<Store> = {
    ...abilities,
    testClock: now,
    consume: async (batch) => {
      if (messages.isDown) throw new Error('down')
      const isReport = batch.some(({ grant }) => grant === 'lease')
      return isReport ? freeing(() => store.consume(inFirst(batch))) : store.consume(inFirst(batch))
    },
    refund: (batch) => freeing(() => store.refund(inFirst(batch))),
    reset: (keys, _, sets) => freeing(() => store.reset(keys, 0, sets)),
  }
  const limiter = createLimiter({
    plans: { hour: '10/h', line: { limits: '1/s burst 10', wait: { maxDelay: '5s', maxWaiting: 1 } } },
    defaultPlan: 'hour',
    store: asyncStore(change, store),
    deadlineMs: 10_000,
    denials: { recheckMs: 20_000 },
    onStoreFailure: 'closed',
    local: { instances: 1 },
    warnings: false,
    ...options,
  } as LimiterOptions)
  limiters.push(limiter)
  return { limiter, messages }
}

/** What is asked for again and again: until units are free, it is denied from memory. */
type Ask = () => Promise<Decision> | Decision

async function deniedFromMemory(ask: Ask): Promise<void> {
  // On a slow machine an answer can be too old to be remembered.
  await eventually(async () => expect(await ask()).toMatchObject({ allowed: false, source: 'cache' }))
}

/** Who asks: a limiter, or a scope of it. */
interface Asker {
  readonly limiter: Limiter
  readonly place: Consumer
  readonly who: string | string[]
}

/** Uses ten units up. Returns what frees some of them. */
type Way = (asker: Asker) => Promise<() => Promise<unknown>>

const reserved = ({ place, who }: Asker): Promise<Reservation> =>
  place.reserve(who, { cost: 10, for: '10min' })
const ways: Readonly<Record<string, Way>> = {
  async cancel(asker) {
    const held = await reserved(asker)
    return () => held.cancel()
  },
  async 'commit of less'(asker) {
    const held = await reserved(asker)
    return () => held.commit(4)
  },
  async 'refund of a reservation'(asker) {
    const held = await reserved(asker)
    return () => asker.limiter.refund(held.decision)
  },
  async refund({ limiter, place, who }) {
    const decision = await place.consume(who, { cost: 10 })
    return () => limiter.refund(decision)
  },
  async 'settle downwards'({ limiter, place, who }) {
    const decision = await place.consume(who, { cost: 10 })
    return () => limiter.settle(decision, 4)
  },
  async 'refund by key'({ place, who }) {
    await place.consume(who, { cost: 10 })
    return () => Promise.all([who].flat().map((id) => place.refund(id, 5)))
  },
  async reset({ place, who }) {
    await place.consume(who, { cost: 10 })
    return () => Promise.all([who].flat().map((id) => place.reset(id)))
  },
}

describe.each(Object.entries(stores))('on %s', (_, makeStore) => {
  async function showsAtOnce(use: Way, asker: Asker): Promise<void> {
    const { place, who } = asker
    const free = await use(asker)
    for (const one of new Set([who, ...[who].flat()])) await deniedFromMemory(() => place.consume(one))
    await free()
    expect(await place.consume(who)).toMatchObject({ allowed: true, source: 'store' })
  }

  describe.each(Object.entries(ways))('%s shows at once', (__, use) => {
    test('of one subject', () => {
      const { limiter } = start(makeStore())
      return showsAtOnce(use, { limiter, place: limiter, who: 'acme' })
    })

    test.each<[string, Partial<Store>]>([
      ['in one step', {}],
      ['in a step for each key', { atomic: false }],
      ['in several shards', { shards: SHARDS }],
    ])('of several subjects, %s', (___, change) => {
      const { limiter } = start(makeStore(), {}, change)
      return showsAtOnce(use, { limiter, place: limiter, who: idsApart(2) })
    })

    test('in a group and with a stacked limit', () => {
      const { limiter } = start(makeStore())
      const place = limiter.scope({ group: 'search', stacked: { export: '10/d' } })
      return showsAtOnce(use, { limiter, place, who: 'acme' })
    })
  })

  test('a place that was left shows at once', async () => {
    const { limiter } = start(makeStore(), { defaultPlan: 'line' })
    await limiter.consume('acme', { cost: 10 })
    const booked = new Promise((resolve) => limiter.on('waiting', resolve))
    const leaving = new AbortController()
    const waiting = limiter.consume('acme', { cost: 5, signal: leaving.signal })
    await booked
    clock.now += 4000
    // Somebody waits already.
    expect((await limiter.consume('acme', { cost: 4 })).allowed).toBe(false)
    const ask = async (): Promise<Decision> =>
      (await limiter.reserve('acme', { cost: 4, for: '1s' })).decision
    await deniedFromMemory(ask)
    leaving.abort(new Error('left'))
    await expect(waiting).rejects.toThrow('left')
    await eventually(async () => expect(await ask()).toMatchObject({ allowed: true, source: 'store' }))
  })

  test('units that are charged after an outage show at once: the wait is longer then', async () => {
    const { limiter, messages } = start(makeStore(), { onStoreFailure: 'local' })
    await limiter.consume('acme')
    await deniedFromMemory(() => limiter.consume('acme', { cost: 10 }))
    clock.now += 5000
    messages.isDown = true
    expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'local' })
    const charged = new Promise((resolve) => limiter.on('reconciliation', resolve))
    messages.isDown = false
    await charged
    const { source, retryAfterMs } = await limiter.consume('acme', { cost: 10 })
    expect([source, (retryAfterMs as number) > 3_595_000]).toEqual(['store', true])
  })

  describe('each message', () => {
    // All at a time, since each waits for a deadline.
    const each = (run: (use: Way) => Promise<void>): Promise<unknown> =>
      Promise.all(['cancel', 'commit of less', 'refund', 'reset'].map((name) => run(ways[name] as Way)))
    const isFree = (limiter: Limiter): Promise<void> =>
      eventually(async () =>
        expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'store' }),
      )

    test('whose answer is lost', () =>
      each(async (use) => {
        const { limiter, messages } = start(makeStore(), { deadlineMs: 500 })
        const free = await use({ limiter, place: limiter, who: 'acme' })
        await deniedFromMemory(() => limiter.consume('acme'))
        messages.after = new Promise(() => {})
        await free().catch(() => {})
        messages.after = undefined
        await isFree(limiter)
      }))

    test('whose answer is late', () =>
      each(async (use) => {
        const { limiter, messages } = start(makeStore(), { deadlineMs: 500 })
        const free = await use({ limiter, place: limiter, who: 'acme' })
        await deniedFromMemory(() => limiter.consume('acme'))
        let count = (): void => {}
        messages.before = new Promise<void>((resolve) => (count = resolve))
        await free().catch(() => {})
        // It was not counted yet, so this is learnt anew.
        await deniedFromMemory(() => limiter.consume('acme'))
        messages.before = undefined
        count()
        await isFree(limiter)
      }))
  })
})
