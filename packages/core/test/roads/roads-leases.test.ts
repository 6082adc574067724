import { testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore } from '../../src/index.js'
import { closeBenches, redisOfAnotherProcess } from '../support/benches.js'
import { playLeases, type MetBy } from './lease-many.js'
import type { LeaseRoad } from './lease-play.js'
import { describeLaws, seeds } from './many.js'
import { Tally } from './tally.js'

const tally = new Tally()
const met = new Map<string, MetBy>()

/** The store of one process in memory, whose answers are promises. */
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

const SCHEDULES = 330

beforeAll(async () => {
  for (const road of [memory, server].filter((r) => r.name.includes(process.env['ROAD'] ?? '')))
    met.set(road.name, await playLeases(road, seeds(SCHEDULES), tally))
}, 240_000)

afterAll(async () => {
  tally.print()
  process.stdout.write(`${JSON.stringify([...met])}\n`)
  await closeBenches()
})

for (const { name } of [memory, server])
  describeLaws(tally, { road: name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: 100 })
