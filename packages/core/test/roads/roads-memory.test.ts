import { benches, jointBenches } from '../support/benches.js'
import { describeLaws, forEachOf, playOn, seeds } from './many.js'
import type { Road } from './play.js'
import { Tally } from './tally.js'

const tally = new Tally()
const [memory] = benches
const apart = jointBenches.find((bench) => !benches.includes(bench))

const roads: readonly Road[] = [
  { name: 'memory', grouping: 'all', limiter: (...given) => benchOf(memory).limiter(...given) },
  { name: 'not atomic', grouping: 'keys', limiter: (...given) => benchOf(apart).limiter(...given) },
]

function benchOf<T>(bench: T | undefined): T {
  if (bench) return bench
  throw new Error('there is no such bench')
}

/** Not each of them moves a plan, or asks who has a hostile id. */
const SCHEDULES = 1350

beforeAll(async () => {
  for (const road of roads) {
    await forEachOf(seeds(SCHEDULES), async (seed) => tally.add(road.name, (await playOn(road, seed)).case))
  }
}, 240_000)

afterAll(() => tally.print())

for (const { name } of roads) {
  describeLaws(tally, { road: name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: 1000 })
}
