// Requests in flight on every road, beside all other limits.
import { cases } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { compare, describeLaws, forEachOf, playOn, seeds, type Played } from '../../roads/many.js'
import { clusterOf, inMemory, notAtomic, onRedis, type Road } from '../../roads/road.js'
import { scheduleOf, type ScheduleOptions } from '../../roads/schedule.js'
import { Tally } from '../../roads/tally.js'
import { closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'

const tally = new Tally()
let cluster: Awaited<ReturnType<typeof clusterOf>>
let another: Redis
let full = 0
let released = 0

const server = onRedis({ name: 'one server', grouping: 'all', reportsFirst: true }, () => [sharedRedis()])
const remembering = onRedis(
  { name: 'one server, denials remembered', grouping: 'all', denials: { recheckMs: 500 } },
  () => [sharedRedis()],
)
const processes = onRedis({ name: 'two processes', grouping: 'all', processes: 2 }, () => [
  sharedRedis(),
  another,
])
const sharded = onRedis(
  { name: 'cluster, two processes', grouping: 'subjects', processes: 2 },
  () => cluster.clients,
)

function optionsOf(seed: number): ScheduleOptions {
  return { inFlight: true, rules: seed % 3 === 0 }
}

async function play(road: Road, seed: number): Promise<Played> {
  const played = await playOn(road, seed, optionsOf(seed))
  tally.add(road.name, played.case)
  full += played.case.full
  released += played.case.released
  return played
}

/** Law 5: the server and memory give equal answers. */
async function playOnBoth(seed: number): Promise<void> {
  const here = await play(inMemory, seed)
  // If the clock goes back, a report can reach a busy server at another time of that clock than it reached memory, so one equal play
  // of several is enough then.
  const { goesBack } = scheduleOf(seed, optionsOf(seed))
  for (let left = goesBack ? 4 : 0; ; left -= 1) {
    const played = await playOn(server, seed, optionsOf(seed))
    compare(played, here)
    if (!played.case.broken.has(5) || left === 0) return tally.add(server.name, played.case)
  }
}

beforeAll(async () => {
  another = redisOfAnotherProcess()
  cluster = await clusterOf(2)
  await forEachOf(seeds(cases(15, 50)), playOnBoth)
  for (const [road, count] of [
    [remembering, cases(8, 20)],
    [notAtomic, cases(12, 35)],
    [processes, cases(15, 50)],
    [sharded, cases(8, 25)],
  ] as const) {
    await forEachOf(seeds(count), async (seed) => void (await play(road, seed)))
  }
})

afterAll(async () => {
  tally.print()
  await cluster?.stop()
  closeBenches()
})

const LAWS = [1, 2, 3, 4, 7, 9, 10, 11]
for (const { name } of [inMemory, remembering, notAtomic, processes, sharded]) {
  describeLaws(tally, { road: name, laws: LAWS, schedules: cases(5, 15) })
}
describeLaws(tally, { road: server.name, laws: [...LAWS, 5], schedules: cases(10, 40) })

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip
unlessPart('requests in flight denied others, and gave their slots back', () => {
  expect(full).toBeGreaterThan(cases(25, 100))
  expect(released).toBeGreaterThan(cases(125, 500))
})
