import { cases } from '@tollgate/testing'
import { describeLaws, forEachOf, playOn, seeds } from './many.js'
import { notAtomic } from './road.js'
import { Tally } from './tally.js'

const tally = new Tally()
/** Units that are sold beside the quotas. */
const billing = `${notAtomic.name}, bills`

beforeAll(async () => {
  await forEachOf(seeds(cases(30, 400)), async (seed) =>
    tally.add(notAtomic.name, (await playOn(notAtomic, seed, { rules: seed % 2 === 0 })).case),
  )
  await forEachOf(seeds(cases(30, 400)), async (seed) =>
    tally.add(billing, (await playOn(notAtomic, seed, { rules: seed % 2 === 0, bills: true })).case),
  )
})

afterAll(() => tally.print())

describeLaws(tally, { road: notAtomic.name, laws: [1, 2, 3, 4, 7, 9, 10, 11], schedules: cases(20, 300) })
describeLaws(tally, { road: billing, laws: [2, 8, 9], schedules: cases(12, 150) })
