import { cases } from '@tollgate/testing'
import { jointBenches } from '../support/benches.js'
import { describeLaws, forEachOf, playOn, seeds } from './many.js'
import type { Road } from './road.js'
import { Tally } from './tally.js'

const tally = new Tally()
const bench = jointBenches.find(({ store }) => store === 'a store that is not atomic')

const road: Road = {
  name: 'not atomic',
  grouping: 'keys',
  limiter: (options, clock) => {
    if (!bench) throw new Error('there is no such bench')
    return bench.limiter(options, clock)
  },
}

beforeAll(async () => {
  await forEachOf(seeds(cases(30, 400)), async (seed) =>
    tally.add(road.name, (await playOn(road, seed)).case),
  )
})

afterAll(() => tally.print())

describeLaws(tally, { road: road.name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: cases(20, 300) })
