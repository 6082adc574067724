import { testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore } from '../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../support/benches.js'
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

const SCHEDULES = 310

beforeAll(async () => {
  for (const road of [memory, server]) await playLeases(road, seeds(SCHEDULES), tally)
}, 240_000)

afterAll(async () => {
  tally.print()
  await closeBenches()
})

for (const { name } of [memory, server]) describeLeases(tally, { road: name, schedules: 300 })
