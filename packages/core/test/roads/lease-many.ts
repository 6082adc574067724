// Plays many schedules of leasing processes on a road, and makes a jest test for each law.
import { cases } from '@tollgate/testing'
import { LeasePlay, type LeaseRoad, type Met } from './lease-play.js'
import { leaseScheduleOf } from './lease-schedule.js'
import { describeLaws, forEachOf } from './many.js'
import { Case, type Tally } from './tally.js'
import { NoAnswer } from './within.js'

/** 2026-01-31T12:34:56.789Z */
const START_MS = 1_769_862_896_789

const LAWS = [1, 2, 3, 4, 7, 9, 10, 11]

/** How many schedules of a road met each thing. */
type MetBy = Record<keyof Met | 'denials', number>

const metOn = new Map<string, MetBy>()

async function playOn(road: LeaseRoad, seed: number): Promise<{ case: Case; met: Met }> {
  const done = new Case(seed)
  const play = new LeasePlay(road, leaseScheduleOf(seed), done, { now: START_MS })
  try {
    await play.run()
  } catch (error) {
    // An exception is no answer either.
    done.check(9, false, () => (error instanceof NoAnswer ? error.message : String((error as Error).stack)))
  }
  await play.end()
  return { case: done, met: play.met }
}

export async function playLeases(road: LeaseRoad, seeds: readonly number[], tally: Tally): Promise<void> {
  const by: MetBy = { leased: 0, refunds: 0, renewals: 0, lost: 0, rests: 0, denials: 0 }
  metOn.set(road.name, by)
  await forEachOf(seeds, async (seed) => {
    const { case: done, met } = await playOn(road, seed)
    tally.add(road.name, done)
    const all = { ...met, denials: done.denials }
    for (const what of Object.keys(by) as (keyof MetBy)[]) if (all[what] > 0) by[what] += 1
  })
}

/** @param schedules the least number of schedules that must have been played */
export function describeLeases(tally: Tally, { road, schedules }: { road: string; schedules: number }): void {
  // Not every schedule changes plans.
  describeLaws(tally, { road, laws: LAWS, schedules: Math.floor(schedules / cases(8, 4)) })
  const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
  const unlessPart = isPart === undefined ? test : test.skip
  unlessPart(`${road}: enough schedules met a lease, a denial, a refund to a lease and a renewal`, () => {
    const least = { leased: 0.5, denials: 0.7, renewals: 0.4, refunds: 0.1, lost: 0.4, rests: 0.9 }
    expect(tally.row(1, road).schedules).toBeGreaterThanOrEqual(schedules)
    const met = metOn.get(road) as MetBy
    const few = (Object.keys(least) as (keyof MetBy)[]).filter(
      (what) => met[what] < schedules * least[what] * cases(0.5, 1),
    )
    expect([few, met]).toEqual([[], met])
  })
}
