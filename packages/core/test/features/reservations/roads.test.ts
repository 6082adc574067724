// Reservations among all that requests do, in memory, on one server and on a cluster.
import { cases } from '@tollgate/testing'
import { compare, describeLaws, forEachOf, playOn, seeds, type Played } from '../../roads/many.js'
import { clusterOf, inMemory, onRedis, type Road } from '../../roads/road.js'
import type { ScheduleOptions } from '../../roads/schedule.js'
import { Tally } from '../../roads/tally.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

const tally = new Tally()
let cluster: Awaited<ReturnType<typeof clusterOf>>
let reserved = 0

const server = onRedis({ name: 'one server', grouping: 'all' }, () => [sharedRedis()])
const sharded = onRedis({ name: 'cluster', grouping: 'subjects' }, () => cluster.clients)

/** Every other schedule has no bucket: those that have one give nothing back by refunds. */
function optionsOf(seed: number): ScheduleOptions {
  const kinds = ['log', 'coarse', 'window', 'fixed', 'hour', 'month'] as const
  return { reserves: true, rules: seed % 3 === 0, ...(seed % 2 === 0 && { kinds }) }
}

async function play(road: Road, seed: number): Promise<Played> {
  const played = await playOn(road, seed, optionsOf(seed))
  reserved += played.case.reserved
  return played
}

beforeAll(async () => {
  cluster = await clusterOf(1)
  await forEachOf(seeds(cases(18, 60)), async (seed) => {
    const [here, there] = [await play(server, seed), await play(inMemory, seed)]
    compare(here, there)
    tally.add(server.name, here.case)
    tally.add(inMemory.name, there.case)
  })
  await forEachOf(seeds(cases(8, 25)), async (seed) =>
    tally.add(sharded.name, (await play(sharded, seed)).case),
  )
})

afterAll(async () => {
  tally.print()
  await cluster?.stop()
  closeBenches()
})

const LAWS = [1, 2, 3, 4, 7, 9, 10, 11]
describeLaws(tally, { road: inMemory.name, laws: LAWS, schedules: cases(12, 50) })
describeLaws(tally, { road: server.name, laws: [...LAWS, 5], schedules: cases(12, 50) })
describeLaws(tally, { road: sharded.name, laws: LAWS, schedules: cases(4, 15) })

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip
unlessPart('units were reserved', () => expect(reserved).toBeGreaterThan(cases(40, 150)))
