import { setImmediate as turn } from 'node:timers/promises'
import { testPrefix, cases } from '@tollgate/testing'
import { memoryStore, redisStore, type Store } from '../../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'
import { leaseLeavesNothing } from '../../roads/lease-idle.js'
import { describeLeases, playLeases } from '../../roads/lease-many.js'
import type { LeaseRoad } from '../../roads/lease-play.js'
import { seeds } from '../../roads/many.js'
import { Tally } from '../../roads/tally.js'

const tally = new Tally()
const TRIPS = [
  { there: 0, back: 0 },
  { there: 1, back: 0 },
  { there: 0, back: 2 },
  { there: 6, back: 0 },
  { there: 0, back: 6 },
]

/** One store in memory. Calls and answers take some turns of the event loop, and the clock may go on meanwhile. */
const memory: LeaseRoad = {
  name: 'leases in memory',
  isInSteps: false,
  stores: (clock) => {
    const store = memoryStore({ now: () => clock.now })
    let calls = 0
    const consume: Store['consume'] = async (batch) => {
      const trip = TRIPS[(calls += 1) % TRIPS.length] as (typeof TRIPS)[number]
      for (let left = trip.there; left > 0; left -= 1) await turn()
      const answers = await store.consume(batch)
      for (let left = trip.back; left > 0; left -= 1) await turn()
      return answers
    }
    return () => asyncStore({ consume }, store)
  },
}

const clients = [0, 1, 2].map(() => redisOfAnotherProcess())
const prefix = testPrefix()
let schedules = 0

const server: LeaseRoad = {
  name: 'leases on one server',
  isInSteps: false,
  sendsClock: true,
  stores: (clock) => {
    const own = `${prefix}:${(schedules += 1)}`
    let processes = 0
    return () => {
      const client = clients[(processes += 1) % clients.length] as (typeof clients)[number]
      return redisStore(client, { prefix: own, now: () => clock.now })
    }
  },
}

/** In real time. */
const idle = 'leases in real time'
let leasesBeforeIdle = 0

const SCHEDULES = cases(14, 90)

beforeAll(async () => {
  for (const road of [memory, server]) await playLeases(road, seeds(SCHEDULES), tally)
  // A lease takes a busy subject, and on a slow machine few are.
  while (leasesBeforeIdle === 0) {
    await leaseLeavesNothing(clients, seeds(cases(5, 20)), (done, leases) => {
      tally.add(idle, done)
      leasesBeforeIdle += leases
    })
  }
})

afterAll(async () => {
  tally.print()
  await closeBenches()
})

for (const { name } of [memory, server]) describeLeases(tally, { road: name, schedules: cases(14, 80) })

test('law 8, nothing left behind: leases that end, are given back or whose process dies leave no key', () => {
  expect(tally.brokenBy(8, idle)).toEqual([])
  expect(leasesBeforeIdle).toBeGreaterThan(0)
})
