// Units that this process holds idle on lease never make a request of its own fail: they go back, and it is asked again once.
import { eventually } from '@tollgate/testing'
import type { Decision, Store, Subjects } from '../../../src/index.js'
import { closeBenches } from '../../support/benches.js'
import { idsApart, SHARDS } from '../../support/shards.js'
import { clock, closeLimiters, QUOTA, remaining, start, stores, untilLeased } from './idle-leases.js'

afterEach(closeLimiters)
afterAll(closeBenches)

describe.each(Object.entries(stores))('on %s', (_, makeStore) => {
  test('a request that needs them', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    expect(await limiter.consume('acme', { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
    expect(await remaining(limiter)).toBe(0)
  })

  test('a request that needs them while another lease is asked for', async () => {
    const { limiter, asked } = start(makeStore())
    let rest = QUOTA - (await untilLeased(limiter, 'acme'))
    asked.length = 0
    // Until a renewal leaves.
    for (; !asked.includes('wish') && rest > 0; rest -= 1) void limiter.consume('acme')
    expect(await limiter.consume('acme', { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
  })

  test('a reservation', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const held = await limiter.reserve('acme', { cost: rest, for: '2min' })
    expect(held.allowed).toBe(true)
    expect(await held.commit(10)).toBe(10)
    expect(await remaining(limiter)).toBe(rest - 10)
  })

  test.each<[string, Partial<Store>]>([
    ['in one step', {}],
    ['in a step for each key', { atomic: false }],
    ['in several shards', { shards: SHARDS }],
  ])('a request of several subjects, %s, of which one is leased', async (__, change) => {
    const { limiter } = start(makeStore(), {}, change)
    const [acme, user] = idsApart(2) as [string, string]
    const rest = QUOTA - (await untilLeased(limiter, acme))
    const both = [acme, { id: user, plan: 'plain' }]
    expect(await limiter.consume(both, { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
    expect([await remaining(limiter, acme), await remaining(limiter, both[1] as Subjects)]).toEqual([
      0,
      QUOTA - rest,
    ])
  })

  test('a request of several subjects that are leased', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, ['acme', 'user']))
    expect(await limiter.consume(['acme', 'user'], { cost: rest })).toMatchObject({
      allowed: true,
      source: 'store',
    })
  })

  test('a request in a group and with a stacked limit that are leased', async () => {
    const { limiter } = start(makeStore())
    const stacked = { export: { quota: QUOTA, window: 'd', lease: { maxShare: 1 } } } as const
    const place = limiter.scope({ group: 'search', stacked })
    const rest = QUOTA - (await untilLeased(place, 'acme'))
    expect(await place.consume('acme', { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
  })

  test('a request of a subject that moved to a plan without leases', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const moved = { id: 'acme', plan: 'plain' }
    expect(await limiter.consume(moved, { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
  })

  test('a request that could wait in line for another subject', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const both = ['acme', { id: 'user', plan: 'line' }]
    expect(await limiter.consume(both, { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
    expect(await remaining(limiter)).toBe(0)
  })

  test('a cost that is settled upwards', async () => {
    const { limiter } = start(makeStore())
    const decision = (await limiter.consume('acme')) as Decision
    const rest = QUOTA - 1 - (await untilLeased(limiter, 'acme'))
    expect(await limiter.settle(decision, rest + 1)).toBe(rest + 1)
    expect(await remaining(limiter)).toBe(0)
  })

  test('a cost that is settled to more than there is takes all that is there', async () => {
    const { limiter } = start(makeStore())
    const decision = (await limiter.consume('acme')) as Decision
    const rest = QUOTA - 1 - (await untilLeased(limiter, 'acme'))
    expect(await limiter.settle(decision, QUOTA)).toBe(rest + 1)
    expect(await remaining(limiter)).toBe(0)
  })

  test.each<[string, Partial<Store>]>([
    ['in one step', {}],
    ['in a step for each key', { atomic: false }],
    ['in several shards', { shards: SHARDS }],
  ])('a cost of several subjects, %s, is settled to what all have', async (__, change) => {
    const { limiter } = start(makeStore(), {}, change)
    const [acme, id] = idsApart(2) as [string, string]
    const user = { id, plan: 'plain' }
    const decision = (await limiter.consume([acme, user])) as Decision
    const rest = QUOTA - 1 - (await untilLeased(limiter, acme))
    const beside = (await remaining(limiter, acme)) as number
    // More than is left of the one beside its lease, and less than with it.
    const left = Math.floor((beside + rest) / 2)
    await limiter.consume(user, { cost: QUOTA - 1 - left })
    expect(await limiter.settle(decision, QUOTA)).toBe(1 + left)
    await eventually(async () =>
      expect([await remaining(limiter, acme), await remaining(limiter, user)]).toEqual([rest - left, 0]),
    )
  })

  test('a reservation that is committed for more', async () => {
    const { limiter } = start(makeStore())
    const held = await limiter.reserve('acme', { cost: 10, for: '10min' })
    const rest = QUOTA - 10 - (await untilLeased(limiter, 'acme'))
    expect(await held.commit(10 + rest)).toBe(10 + rest)
    expect(await remaining(limiter)).toBe(0)
  })

  test('a reservation that is committed after its end', async () => {
    const { limiter } = start(makeStore())
    const held = await limiter.reserve('acme', { cost: 500, for: '100ms' })
    clock.now += 200
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    await limiter.consume({ id: 'acme', plan: 'plain' }, { cost: rest - 500 })
    expect(await held.commit(500)).toBe(500)
  })

  test('many requests at a time, as many as there is room for', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const cost = Math.floor(rest / 5)
    const all = await Promise.all(
      Array.from({ length: 20 }, () => limiter.reserve('acme', { cost, for: '2min' })),
    )
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(5)
  })
})
