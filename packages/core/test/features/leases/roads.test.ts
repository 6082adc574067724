// Leases among all that requests do, in memory, on one server and on a cluster.
import { setImmediate as turn } from 'node:timers/promises'
import { cases } from '@tollgate/testing'
import { memoryStore, type Store } from '../../../src/index.js'
import { leavesNothing, playLeasing } from '../../roads/idle.js'
import { describeLaws, forEachOf, playOn, seeds } from '../../roads/many.js'
import { clusterOf, onRedis, type Road } from '../../roads/road.js'
import { Tally, type Case } from '../../roads/tally.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

const tally = new Tally()
let cluster: Awaited<ReturnType<typeof clusterOf>>
const TRIPS = [
  { there: 0, back: 0 },
  { there: 1, back: 0 },
  { there: 0, back: 2 },
  { there: 6, back: 0 },
  { there: 0, back: 6 },
]

/** One store in memory. Calls and answers take some turns of the event loop, and the clock may go on meanwhile. */
const memory: Road = {
  name: 'leases in memory',
  grouping: 'all',
  open: (clock) => {
    const store = memoryStore({ now: () => clock.now })
    let calls = 0
    const consume: Store['consume'] = async (batch) => {
      const trip = TRIPS[(calls += 1) % TRIPS.length] as (typeof TRIPS)[number]
      for (let left = trip.there; left > 0; left -= 1) await turn()
      const answers = await store.consume(batch)
      for (let left = trip.back; left > 0; left -= 1) await turn()
      return answers
    }
    return () => asyncStore({ consume, rules: store.rules as NonNullable<Store['rules']> }, store)
  },
}

const clients = [0, 1, 2].map(() => redisOfAnotherProcess())
const server = onRedis({ name: 'leases on one server', grouping: 'all', sendsClock: true }, () => clients)
const sharded = onRedis(
  { name: 'leases on a cluster', grouping: 'subjects', sendsClock: true },
  () => cluster.clients,
)

/** In real time. */
const idle = 'leases in real time'
let leasesBeforeIdle = 0

const ROADS = [
  { road: memory, count: cases(14, 120), least: cases(14, 80) },
  { road: server, count: cases(14, 90), least: cases(14, 80) },
  { road: sharded, count: cases(22, 34), least: cases(16, 30) },
] as const

/** How many schedules of a road met each thing. */
const met = new Map<string, Record<string, number>>()

function note(road: string, { leases, denials }: Case): void {
  const all = met.get(road) ?? {}
  met.set(road, all)
  for (const [what, count] of Object.entries({ ...leases, denials }))
    all[what] = (all[what] ?? 0) + Number(count > 0)
}

beforeAll(async () => {
  cluster = await clusterOf(3)
  for (const { road, count } of ROADS) {
    await forEachOf(seeds(count), async (seed) => {
      const { case: done } = await playOn(road, seed, { leases: true, steps: 10, rules: seed % 3 === 0 })
      tally.add(road.name, done)
      note(road.name, done)
    })
  }
  // A lease takes a busy subject, and on a slow machine few are.
  while (leasesBeforeIdle === 0) {
    await leavesNothing(clients, seeds(cases(5, 20)), {
      play: playLeasing,
      atOnce: 4,
      onDone: (done) => {
        tally.add(idle, done)
        leasesBeforeIdle += done.leases.served
      },
    })
  }
})

afterAll(async () => {
  tally.print()
  await cluster?.stop()
  closeBenches()
})

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip

// Not every schedule changes plans.
for (const { road, least } of ROADS)
  describeLaws(tally, {
    road: road.name,
    laws: [1, 2, 3, 4, 7, 9, 10, 11],
    schedules: Math.floor(least / cases(8, 4)),
  })

unlessPart.each(ROADS)('$road.name: enough schedules met all that leases do', ({ road, least }) => {
  const shares = { served: 0.5, denials: 0.7, renewed: 0.4, refunded: 0.1, lost: 0.4, rested: 0.9 }
  const all = met.get(road.name) ?? {}
  const few = Object.entries(shares).filter(
    ([what, share]) => (all[what] ?? 0) < least * share * cases(0.5, 1),
  )
  expect([few, all]).toEqual([[], all])
  expect(tally.row(1, road.name).schedules).toBeGreaterThanOrEqual(least)
})

test('law 8, nothing left behind: leases that end, are given back or whose process dies leave no key', () => {
  expect(tally.brokenBy(8, idle)).toEqual([])
  expect(leasesBeforeIdle).toBeGreaterThan(0)
})
