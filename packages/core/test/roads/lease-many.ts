// Plays many schedules of leasing processes on a road.
import { LeasePlay, type LeaseRoad, type Met } from './lease-play.js'
import { leaseScheduleOf } from './lease-schedule.js'
import { forEachOf } from './many.js'
import { Case, type Tally } from './tally.js'
import { NoAnswer } from './within.js'

/** 2026-01-31T12:34:56.789Z */
const START_MS = 1_769_862_896_789

/** How many schedules met each thing. */
export type MetBy = Record<keyof Met | 'denials', number>

export async function playLeasesOn(road: LeaseRoad, seed: number): Promise<{ case: Case; met: Met }> {
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

export async function playLeases(road: LeaseRoad, seeds: readonly number[], tally: Tally): Promise<MetBy> {
  const by: MetBy = { leased: 0, refunds: 0, renewals: 0, lost: 0, denials: 0 }
  await forEachOf(seeds, async (seed) => {
    const { case: done, met } = await playLeasesOn(road, seed)
    tally.add(road.name, done)
    const all = { ...met, denials: done.denials }
    for (const what of Object.keys(by) as (keyof MetBy)[]) if (all[what] > 0) by[what] += 1
  })
  return by
}
