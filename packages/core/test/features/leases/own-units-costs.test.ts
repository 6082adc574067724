// What it costs to give idle units back for a request, and what becomes of it when something fails.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@tollgate/testing'
import type { Store } from '../../../src/index.js'
import {
  clock,
  closeLimiters,
  deferred,
  QUOTA,
  remaining,
  start,
  stores,
  untilLeased,
} from './idle-leases.js'

const makeStore = stores['memory'] as () => Store

afterEach(closeLimiters)

describe('what it costs', () => {
  test('the decision is told and counted once', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const told: boolean[] = []
    limiter.on('decision', ({ allowed }) => told.push(allowed))
    limiter.on('limited', () => told.push(false))
    const { allowed } = limiter.stats().decisions.store
    await limiter.consume('acme', { cost: rest })
    expect(told).toEqual([true])
    expect(limiter.stats().decisions.store).toEqual({ allowed: allowed + 1, denied: 0 })
  })

  test('what fits beside the lease leaves it as it is', async () => {
    const { limiter, asked } = start(makeStore())
    await untilLeased(limiter, 'acme')
    asked.length = 0
    expect((await limiter.reserve('acme', { cost: 500, for: '2min' })).allowed).toBe(true)
    expect((await limiter.consume(['acme', { id: 'user', plan: 'plain' }], { cost: 2 })).allowed).toBe(true)
    expect((await limiter.consume('acme')).source).toBe('lease')
    expect(asked).toEqual(['all', 'all'])
  })

  test('what fits not even with the lease is asked for once, then denied from memory, and the lease is kept', async () => {
    const { limiter, asked } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    asked.length = 0
    for (let i = 0; i < 20; i += 1)
      expect((await limiter.consume('acme', { cost: rest + 1 })).allowed).toBe(false)
    expect(asked).toEqual(['all'])
    expect((await limiter.consume('acme')).source).toBe('lease')
  })

  test('what another process holds is not asked for twice', async () => {
    const store = makeStore()
    const [{ limiter, asked }, other] = [start(store), start(store)]
    const rest = QUOTA - (await untilLeased(other.limiter, 'acme'))
    for (let i = 0; i < 20; i += 1)
      expect((await limiter.consume('acme', { cost: rest })).allowed).toBe(false)
    expect(asked).toEqual(['all'])
  })

  test('a flood that competes for the units is asked for twice once, and then denied from memory', async () => {
    const { limiter, asked } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    asked.length = 0
    const flood = async (): Promise<number> => {
      const all = await Promise.all(Array.from({ length: 50 }, () => limiter.consume('acme', { cost: rest })))
      return all.filter(({ allowed }) => allowed).length
    }
    expect([await flood(), asked.filter((grant) => grant === 'all').length]).toEqual([1, 100])
    expect([await flood(), await flood()]).toEqual([0, 0])
    expect(asked.filter((grant) => grant === 'all').length).toBe(100)
  })

  test('while the units go back, requests are not denied from memory', async () => {
    const world = start(makeStore())
    const { limiter } = world
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const back = deferred()
    world.onBatch = (grants) => (grants.includes('lease') ? back.promise : undefined)
    // 10 are left beside the lease, so that either of two requests needs it.
    const beside = (await remaining(limiter)) as number
    await limiter.consume({ id: 'acme', plan: 'plain' }, { cost: beside - 10 })
    const cost = Math.floor((rest - beside + 10) / 2)
    expect(cost).toBeGreaterThan(10)
    // Of several subjects, so that the lease itself does not serve it.
    const both = ['acme', { id: 'user', plan: 'plain' }]
    const first = limiter.consume(both, { cost })
    await eventually(() => expect(world.asked).toContain('lease'))
    const second = limiter.consume(both, { cost })
    back.resolve()
    expect([await first, await second]).toMatchObject([
      { allowed: true, source: 'store' },
      { allowed: true, source: 'store' },
    ])
  })

  test('units that came back while a denial was on its way are there for the denied request', async () => {
    const world = start(makeStore())
    const { limiter } = world
    await untilLeased(limiter, 'acme')
    const beside = (await remaining(limiter)) as number
    await limiter.consume({ id: 'acme', plan: 'plain' }, { cost: beside - 10 })
    const both = ['acme', { id: 'user', plan: 'plain' }]
    const late = deferred()
    let isHeld = false
    world.onAnswers = () => {
      if (isHeld) return undefined
      isHeld = true
      return late.promise
    }
    const first = limiter.consume(both, { cost: 12 })
    await eventually(() => expect(isHeld).toBe(true))
    expect((await limiter.consume(both, { cost: 15 })).allowed).toBe(true)
    late.resolve()
    expect(await first).toMatchObject({ allowed: true, source: 'store' })
    // What is decided after that has been denied without them.
    clock.now += 1
    world.asked.length = 0
    const left = (await remaining(limiter)) as number
    expect((await limiter.consume(both, { cost: left + 1 })).allowed).toBe(false)
    expect(world.asked).toEqual(['all'])
  })

  test('what went back for a request is not leased again before that request has it', async () => {
    const world = start(makeStore())
    const { limiter, asked } = world
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const held = deferred()
    world.onBatch = () => (asked.includes('lease') ? held.promise : undefined)
    const large = limiter.consume(['acme', { id: 'user', plan: 'plain' }], { cost: rest - 10 })
    await eventually(() => expect(asked).toContain('lease'))
    const small = Array.from({ length: 10 }, () => limiter.consume('acme'))
    await eventually(() => expect(asked.at(-1)).toBe('all'))
    held.resolve()
    expect((await Promise.all([large, ...small])).map(({ allowed }) => allowed)).toEqual(Array(11).fill(true))
  })

  test('a denial of several subjects over another one does not stick to the one that is leased', async () => {
    const { limiter } = start(makeStore())
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const user = { id: 'user', plan: 'plain' }
    await limiter.consume(user, { cost: QUOTA })
    expect((await limiter.consume(['acme', user], { cost: rest })).allowed).toBe(false)
    expect(await limiter.consume('acme', { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
  })
})

describe('when something fails', () => {
  test.each([
    ['the units do not come back', 'lease', 1],
    ['it is not answered again', 'all', 2],
  ])('%s by the deadline: the denial stands, and nothing is taken', async (_, grant, nth) => {
    const world = start(makeStore(), { deadlineMs: 500, denials: false })
    const { limiter, asked } = world
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const held = deferred()
    asked.length = 0
    world.onBatch = (grants) => {
      if (asked.filter((one) => one === grant).length === nth && grants.includes(grant)) return held.promise
      // The first answer takes its time.
      return asked.length === 1 ? sleep(100) : undefined
    }
    const order: string[] = []
    limiter.on('storeError', () => order.push('the call is late'))
    const decided = Promise.resolve(limiter.consume('acme', { cost: rest }))
    void decided.then(() => order.push('denied'))
    expect(await decided).toMatchObject({ allowed: false, source: 'store', violated: ['hour'] })
    // On a busy machine both come in one turn of the event loop, and then in any order.
    await eventually(() => expect(order.toSorted()).toEqual(['denied', 'the call is late']))
    held.resolve()
    world.onBatch = () => {}
    await eventually(async () => expect(await remaining(limiter)).toBe(rest))
  })

  test('the store fails when it is asked again: the failure policy decides', async () => {
    const world = start(makeStore(), { onStoreFailure: 'open' })
    const { limiter, asked } = world
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    asked.length = 0
    world.onBatch = () => {
      if (asked.filter((one) => one === 'all').length === 2) throw new Error('down')
    }
    expect(await limiter.consume('acme', { cost: rest })).toMatchObject({ allowed: true, source: 'open' })
  })

  test('the answer to a lease was lost: what it may have taken goes back', async () => {
    const world = start(makeStore(), { deadlineMs: 200 })
    const { limiter } = world
    world.onAnswers = (grants) => (grants.includes('wish') ? new Promise(() => {}) : undefined)
    const lost = new Promise((resolve) => limiter.on('lease', resolve))
    let rest = QUOTA
    for (; !world.asked.includes('wish'); rest -= 1) {
      expect((await limiter.consume('acme')).allowed).toBe(true)
      clock.now += 1
    }
    expect(await lost).toMatchObject({ kind: 'lost' })
    world.onAnswers = () => {}
    expect(await limiter.consume('acme', { cost: rest })).toMatchObject({ allowed: true, source: 'store' })
  })

  test('a lease that is granted while the limiter closes goes back', async () => {
    const store = makeStore()
    const world = start(store)
    const { limiter } = world
    let used = await untilLeased(limiter, 'acme')
    world.asked.length = 0
    const held = deferred()
    world.onAnswers = (grants) => (grants.includes('wish') ? held.promise : undefined)
    for (; !world.asked.includes('wish') && used < QUOTA; used += 1) await limiter.consume('acme')
    expect(world.asked).toContain('wish')
    const closed = limiter.close()
    held.resolve()
    await closed
    expect(await remaining(start(store).limiter)).toBe(QUOTA - used)
  })

  test('the limiter is closed meanwhile: it waits for the request', async () => {
    const world = start(makeStore())
    const { limiter } = world
    const rest = QUOTA - (await untilLeased(limiter, 'acme'))
    const held = deferred()
    world.onBatch = (grants) => (grants.includes('lease') ? held.promise : undefined)
    const decided = limiter.consume('acme', { cost: rest })
    await eventually(() => expect(world.asked).toContain('lease'))
    const closed = limiter.close()
    held.resolve()
    await closed
    expect(await decided).toMatchObject({ allowed: false })
    expect(await remaining(start(makeStore()).limiter)).toBe(QUOTA)
  })
})
