// Law 11: a charge, a refund and a give-back count once, whatever replies are lost.
import { eventually, startProxy, testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  StoreError,
  type Limiter,
  type LimiterOptions,
  type Store,
} from '../../src/index.js'
import { closesWithTest, connect, endFaults, recovers, server } from '../support/faults.js'
import { asyncStore } from '../support/stores.js'

afterEach(endFaults)

/** Ways in which a reply is lost after the store has counted. */
const ways: [string, () => Promise<never>][] = [
  ['never comes', () => new Promise(() => {})],
  ['is an error', () => Promise.reject(new Error('reset by peer'))],
  ['is an error for each', () => Promise.resolve([new StoreError('reset by peer')] as never)],
]

/** A store that counts, but loses the next replies to requests with an id; while it is away, all other calls fail. */
class Lossy {
  isAway = false
  /** How many replies to charges and refunds are still to be lost. */
  toLose = 0
  readonly ids: string[] = []
  readonly store: Store
  readonly #lose: () => Promise<never>

  constructor(lose: () => Promise<never>, inner: Store = memoryStore()) {
    this.#lose = lose
    this.store = asyncStore(
      {
        consume: async (batch) => {
          const charges = batch.filter(({ grant }) => grant === 'force')
          if (charges.length === 0 && this.isAway) throw new Error('away')
          return this.#reply(charges, await inner.consume(batch))
        },
        refund: async (batch) => this.#reply(batch, await inner.refund(batch)),
      },
      inner,
    )
  }

  #reply<T>(carried: readonly { readonly id?: string | undefined }[], answers: T): T | Promise<never> {
    if (carried.length === 0) return answers
    this.ids.push(...carried.map(({ id = 'none' }) => id))
    this.toLose -= 1
    return this.toLose >= 0 ? this.#lose() : answers
  }
}

const limiterOn = (store: Store, options: Partial<LimiterOptions> = {}): Limiter =>
  closesWithTest(
    createLimiter({
      limit: { quota: 100, window: 'h', algorithm: 'fixed-window' },
      store,
      deadlineMs: 20,
      local: { instances: 1 },
      warnings: false,
      ...options,
    } as LimiterOptions),
  )
/** The units used according to the store itself, not the limiter. */
const usedOf = async (limiter: Limiter): Promise<number> => {
  const decision = await limiter.peek('acme')
  return decision.source === 'store' ? 100 - (decision.limits[0]?.remaining ?? 0) : -1
}

describe.each(ways)('when a reply %s', (_, lose) => {
  test.each([1, 3])(
    'units admitted without the store are charged once, after %p lost replies',
    async (lost) => {
      const lossy = new Lossy(lose)
      const limiter = limiterOn(lossy.store)
      const told: unknown[] = []
      limiter.on('reconciliation', (reconciled) => told.push(reconciled))
      expect((await limiter.consume('acme')).source).toBe('store')
      lossy.isAway = true
      lossy.toLose = lost
      for (let i = 0; i < 2; i += 1) {
        expect(await limiter.consume('acme', { cost: 5 })).toMatchObject({ allowed: true, source: 'local' })
      }
      lossy.isAway = false
      await eventually(() => expect(told).toEqual([{ units: 10, dropped: 0 }]))
      await eventually(async () => expect(await usedOf(limiter)).toBe(11))
      // The same message each time, with the same id: that is why it counts once.
      expect([lossy.ids.length, new Set(lossy.ids).size]).toEqual([lost + 1, 1])
      await limiter.close()
      expect(limiter.stats().reconciled).toEqual({ units: 10, dropped: 0 })
    },
  )

  test.each([1, 3])(
    'a refund resolves false within the deadline, and counts once, after %p',
    async (lost) => {
      const lossy = new Lossy(lose)
      const limiter = limiterOn(lossy.store)
      await limiter.consume('acme', { cost: 20 })
      const decision = await limiter.consume('acme', { cost: 9 })
      lossy.toLose = lost
      expect(await limiter.refund(decision)).toBe(false)
      await eventually(() => expect(lossy.ids).toHaveLength(lost + 1))
      expect(new Set(lossy.ids).size).toBe(1)
      await eventually(async () => expect(await usedOf(limiter)).toBe(20))
      await limiter.close()
      expect(lossy.ids).toHaveLength(lost + 1)
    },
  )

  test('units taken from others when one subject denied go back once', async () => {
    const lossy = new Lossy(lose)
    const limiter = limiterOn({ ...lossy.store, atomic: false })
    await limiter.consume('bob', { cost: 98 })
    lossy.toLose = 2
    const denied = await limiter.consume(['acme', 'bob'], { cost: 5 })
    expect([denied.allowed, denied.limits.map(({ remaining }) => remaining)]).toEqual([false, [2]])
    await eventually(() => expect(lossy.ids).toHaveLength(3))
    expect(new Set(lossy.ids).size).toBe(1)
    await eventually(async () => expect(await usedOf(limiter)).toBe(0))
  })
})

test('a charge reports as dropped only what the store had no room for', async () => {
  const inner = memoryStore()
  let isAway = false
  const consume: Store['consume'] = async (batch) => {
    if (isAway && batch[0]?.grant === 'all') throw new Error('away')
    const answers = (await inner.consume(batch)) as never as { at: number; limits: { granted?: number }[] }[]
    if (batch[0]?.grant !== 'force') return answers as never
    const less = ({ granted = 0, ...limit }, i: number): object => ({
      ...limit,
      granted: i ? granted : granted - 2,
    })
    return answers.map(({ at, limits }) => ({ at, limits: limits.map(less) })) as never
  }
  const limiter = limiterOn(asyncStore({ consume }, inner), { limit: ['100/h', '500/d'] })
  await limiter.consume('acme')
  isAway = true
  await limiter.consume('acme', { cost: 7 })
  isAway = false
  await eventually(() => expect(limiter.stats().reconciled).toEqual({ units: 12, dropped: 2 }))
})

test.each([1, 3])('on Redis: 11 units used, and 11 counted after %p lost replies', async (lost) => {
  const redis = await server()
  const lossy = new Lossy(
    () => new Promise(() => {}),
    redisStore(connect(redis.port), { prefix: testPrefix() }),
  )
  const limiter = limiterOn(lossy.store, { deadlineMs: 300 })
  await recovers(limiter)
  await limiter.reset('acme')
  await limiter.consume('acme')
  lossy.isAway = true
  lossy.toLose = lost
  for (let i = 0; i < 2; i += 1) expect((await limiter.consume('acme', { cost: 5 })).source).toBe('local')
  lossy.isAway = false
  await eventually(() => expect(limiter.stats().reconciled).toEqual({ units: 10, dropped: 0 }))
  expect([lossy.ids.length, new Set(lossy.ids).size]).toEqual([lost + 1, 1])
  await eventually(async () => expect(await usedOf(limiter)).toBe(11))
})

test('on Redis: nothing counts twice when connections are cut in the middle of replies, again and again', async () => {
  const redis = await server()
  const proxy = await startProxy(redis)
  const prefix = testPrefix()
  const client = connect(proxy.port)
  const limiter = limiterOn(redisStore(client, { prefix }), { deadlineMs: 300 })
  const watch = limiterOn(redisStore(connect(redis.port), { prefix }), { deadlineMs: 10_000 })
  await recovers(limiter)
  await limiter.reset('acme')
  await limiter.consume('acme')
  await proxy.refuse()
  for (let i = 0; i < 2; i += 1) expect((await limiter.consume('acme', { cost: 5 })).source).toBe('local')
  for (let cuts = 0; cuts < 3; cuts += 1) {
    // Redis executes the first command on the new connection, and the proxy cuts off its reply.
    const isCut = new Promise((resolve) => {
      client.once('ready', () => {
        proxy.cutAfterBytes(1)
        client.once('close', resolve)
      })
    })
    await proxy.restore()
    await isCut
    await proxy.refuse()
  }
  await proxy.restore()
  await eventually(() => expect(limiter.stats().reconciled).toEqual({ units: 10, dropped: 0 }))
  await eventually(async () => expect(await usedOf(watch)).toBe(11))
  await limiter.close()
  expect(limiter.stats().reconciled).toEqual({ units: 10, dropped: 0 })
  await proxy.close()
})
