import { cases } from '@tollgate/testing'
import { describeLaws, forEachOf, playOn, seeds } from './many.js'
import { clusterOf, onRedis } from './road.js'
import { Tally } from './tally.js'

const tally = new Tally()
let cluster: Awaited<ReturnType<typeof clusterOf>>
const road = onRedis({ name: 'cluster', grouping: 'subjects' }, () => cluster.clients)
/** Units that are sold beside the quotas. */
const billing = `${road.name}, bills`

beforeAll(async () => {
  cluster = await clusterOf(1)
  await forEachOf(seeds(cases(20, 150)), async (seed) =>
    tally.add(road.name, (await playOn(road, seed, { rules: seed % 2 === 0 })).case),
  )
  await forEachOf(seeds(cases(20, 150)), async (seed) =>
    tally.add(billing, (await playOn(road, seed, { rules: seed % 2 === 0, bills: true })).case),
  )
})

afterAll(async () => {
  tally.print()
  await cluster?.stop()
})

describeLaws(tally, { road: road.name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: cases(12, 100) })
describeLaws(tally, { road: billing, laws: [2, 8, 9], schedules: cases(8, 70) })
