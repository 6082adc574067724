// What cancel, commit, refund and settle say and change once the store has forgotten what they are about.
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Decision,
  type Limiter,
  type Reservation,
} from '../../src/index.js'
import { closeBenches, sharedRedis, START_MS } from '../support/benches.js'

const clock = { now: START_MS }
const now = (): number => clock.now
const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})
afterAll(closeBenches)

/** A limiter, and how its store loses what it knows of acme. */
interface World {
  readonly limiter: Limiter
  lose(): unknown
}

const stores: Readonly<Record<string, () => World>> = {
  memory() {
    const limiter = createLimiter({ ...OPTIONS, store: memoryStore({ now, maxSubjects: 1 }) })
    return { limiter, lose: () => limiter.consume('another') }
  },
  Redis() {
    const redis = sharedRedis()
    const prefix = testPrefix()
    const store = redisStore(redis, { prefix, now })
    const limiter = createLimiter({ ...OPTIONS, store, deadlineMs: 10_000, onStoreFailure: 'closed' })
    return { limiter, lose: async () => redis.del(await redis.keys(`${prefix}/[^!]*`)) }
  },
}
const OPTIONS = { limit: '100/h', warnings: false } as const

const events: Readonly<Record<string, (world: World) => unknown>> = {
  nothing: () => {},
  'a reset': ({ limiter }) => limiter.reset('acme'),
  'a reset and 30 units used': async ({ limiter }) => {
    await limiter.reset('acme')
    clock.now += 1000
    await limiter.consume('acme', { cost: 30 })
  },
  'the end of the reservation': () => void (clock.now += 130_000),
  'the loss of its data': ({ lose }) => lose(),
}

type Said = number | boolean
const reservations: Readonly<Record<string, (held: Reservation) => Promise<Said>>> = {
  cancel: (held) => held.cancel(),
  'commit 0': (held) => held.commit(0),
  'commit 10': (held) => held.commit(10),
  'commit 40': (held) => held.commit(40),
  'commit 80': (held) => held.commit(80),
}
const decisions: Readonly<Record<string, (decision: Decision, limiter: Limiter) => Promise<Said>>> = {
  refund: (decision, limiter) => limiter.refund(decision),
  'settle 0': (decision, limiter) => limiter.settle(decision, 0),
  'settle 10': (decision, limiter) => limiter.settle(decision, 10),
  'settle 80': (decision, limiter) => limiter.settle(decision, 80),
}

/** What each says, what it says the second time, and the units that are left then. */
type Rows = Readonly<Record<string, readonly [said: Said, again: Said, left: number]>>

const ofReservations: Readonly<Record<string, Rows>> = {
  nothing: {
    cancel: [true, false, 100],
    'commit 0': [0, 0, 100],
    'commit 10': [10, 10, 90],
    'commit 40': [40, 40, 60],
    'commit 80': [80, 80, 20],
  },
  // Nothing came back, and what is committed is taken as far as it fits.
  ...Object.fromEntries(
    ['a reset', 'the end of the reservation', 'the loss of its data'].map((event) => [
      event,
      {
        cancel: [false, false, 100],
        'commit 0': [0, 0, 100],
        'commit 10': [10, 10, 90],
        'commit 40': [40, 40, 60],
        'commit 80': [80, 80, 20],
      } satisfies Rows,
    ]),
  ),
  'a reset and 30 units used': {
    cancel: [false, false, 70],
    'commit 0': [0, 0, 70],
    'commit 10': [10, 10, 60],
    'commit 40': [40, 40, 30],
    'commit 80': [70, 70, 0],
  },
}

const ofDecisions: Readonly<Record<string, Rows>> = {
  nothing: {
    refund: [true, false, 100],
    'settle 0': [0, 0, 100],
    'settle 10': [10, 10, 90],
    'settle 80': [80, 80, 20],
  },
  // Nothing came back, so the request has still taken its cost; what is more is taken of what is there now.
  ...Object.fromEntries(
    ['a reset', 'the loss of its data'].map((event) => [
      event,
      {
        refund: [false, false, 100],
        'settle 0': [40, 40, 100],
        'settle 10': [40, 40, 100],
        'settle 80': [80, 80, 60],
      } satisfies Rows,
    ]),
  ),
  'a reset and 30 units used': {
    refund: [false, false, 70],
    'settle 0': [40, 40, 70],
    'settle 10': [40, 40, 70],
    'settle 80': [80, 80, 30],
  },
}

const cases = <T>(table: Readonly<Record<string, Rows>>, calls: Readonly<Record<string, T>>) =>
  Object.entries(table).flatMap(([event, rows]) =>
    Object.entries(rows).map(([name, expected]) => [name, event, calls[name] as T, expected] as const),
  )

describe.each(Object.entries(stores))('on %s', (_, makeWorld) => {
  function start(): World {
    const world = makeWorld()
    limiters.push(world.limiter)
    return world
  }
  const leftOf = async ({ limiter }: World): Promise<number | undefined> =>
    (await limiter.peek('acme')).limits[0]?.remaining

  test.each(cases(ofReservations, reservations))('%s after %s', async (__, event, end, expected) => {
    const world = start()
    const held = await world.limiter.reserve('acme', { cost: 40, for: '2min' })
    await events[event]?.(world)
    expect([await end(held), await end(held), await leftOf(world)]).toEqual(expected)
  })

  test.each(cases(ofDecisions, decisions))('%s after %s', async (__, event, settle, expected) => {
    const world = start()
    const { limiter } = world
    const decision = await limiter.consume('acme', { cost: 40 })
    await events[event]?.(world)
    const said = [await settle(decision, limiter), await settle(decision, limiter)]
    expect([...said, await leftOf(world)]).toEqual(expected)
  })

  describe('of what was used since a reset, nothing is given back', () => {
    const WAITING = {
      limits: { quota: 5, window: 's', algorithm: 'fixed-window' },
      wait: { maxDelay: '1s' },
    } as const

    /** A request of cost 2 that waits for the next window. */
    async function waitingIn({ limiter }: World): Promise<{ decided: Promise<Decision>; leave: () => void }> {
      limiter.setPlans({ default: WAITING })
      await limiter.consume('acme', { cost: 5 })
      const leaving = new AbortController()
      const booked = new Promise((resolve) => limiter.on('waiting', resolve))
      const decided = limiter.consume('acme', { cost: 2, signal: leaving.signal }) as Promise<Decision>
      await Promise.race([booked, decided])
      return { decided, leave: () => leaving.abort(new Error('left')) }
    }

    test('by a place that was left', async () => {
      const world = start()
      const { decided, leave } = await waitingIn(world)
      await world.limiter.reset('acme')
      await world.limiter.consume('acme', { cost: 5 })
      leave()
      await expect(decided).rejects.toThrow('left')
      expect(await leftOf(world)).toBe(0)
    })

    test.each([0, 1])('by a place that was used, and cost %d in the end', async (cost) => {
      const world = start()
      const { decided } = await waitingIn(world)
      clock.now += 1000
      const decision = await decided
      expect(decision).toMatchObject({ allowed: true, source: 'place' })
      await world.limiter.reset('acme')
      await world.limiter.consume('acme', { cost: 5 })
      expect([await world.limiter.settle(decision, cost), await leftOf(world)]).toEqual([2, 0])
    })
  })
})
