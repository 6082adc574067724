import { testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore } from '../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../support/benches.js'
import { leaseLeavesNothing } from './lease-idle.js'
import { describeLeases, playLeases } from './lease-many.js'
import type { LeaseRoad } from './lease-play.js'
import { seeds } from './many.js'
import { Tally } from './tally.js'

const tally = new Tally()

/** One store in memory, which answers with promises. */
const memory: LeaseRoad = {
  name: 'leases in memory',
  isInSteps: false,
  stores: (clock) => {
    const store = memoryStore({ now: () => clock.now })
    return () => store
  },
}

const clients = [0, 1, 2].map(() => redisOfAnotherProcess())
const prefix = testPrefix()
let schedules = 0

const server: LeaseRoad = {
  name: 'leases on one server',
  isInSteps: false,
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

const SCHEDULES = 310

beforeAll(async () => {
  for (const road of [memory, server]) await playLeases(road, seeds(SCHEDULES), tally)
  await leaseLeavesNothing(clients, seeds(60), (done, leases) => {
    tally.add(idle, done)
    leasesBeforeIdle += leases
  })
}, 240_000)

afterAll(async () => {
  tally.print()
  await closeBenches()
})

for (const { name } of [memory, server]) describeLeases(tally, { road: name, schedules: 300 })

test('law 8, nothing left behind: leases that end, are given back or whose process dies leave no key', () => {
  expect(tally.brokenBy(8, idle)).toEqual([])
  expect(leasesBeforeIdle).toBeGreaterThan(tally.row(8, idle).schedules)
})
