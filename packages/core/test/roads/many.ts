// Plays many schedules on a road, and makes a jest test for each law.
import { withBills } from './bill-schedule.js'
import { withFlights } from './flight-schedule.js'
import { withLeases } from './lease-schedule.js'
import { Play } from './play.js'
import type { Road } from './road.js'
import { probe } from './probes.js'
import { withRules } from './rule-schedule.js'
import { withReservations } from './reservation-schedule.js'
import { scheduleOf, type ScheduleOptions } from './schedule.js'
import { Case, LAWS, type Tally } from './tally.js'
import { NoAnswer } from './within.js'

/** 2026-01-31T12:34:56.789Z */
const START_MS = 1_769_862_896_789

/** Schedules played at the same time, because a schedule mostly waits for its store. */
const AT_ONCE = 40

/**
 * The seeds of the schedules to play: 1 to `usual`, unless the environment says otherwise. TOLLGATE_ROADS_SEED plays
 * one schedule, TOLLGATE_ROADS_FROM begins with another seed, TOLLGATE_ROADS_COUNT plays fewer.
 */
export function seeds(usual: number): number[] {
  const one = process.env['TOLLGATE_ROADS_SEED']
  if (one !== undefined) return [Number(one)]
  const count = Math.min(usual, Number(process.env['TOLLGATE_ROADS_COUNT'] ?? usual))
  const from = Number(process.env['TOLLGATE_ROADS_FROM'] ?? 1)
  return Array.from({ length: count }, (_, i) => from + i)
}

export interface Played {
  readonly case: Case
  /** All answers as text. */
  readonly told: readonly string[]
}

export async function playOn(road: Road, seed: number, options: ScheduleOptions = {}): Promise<Played> {
  const plain = scheduleOf(seed, options)
  const flying = options.inFlight ? withFlights(plain, road.processes ?? 1) : plain
  const reserving = options.reserves ? withReservations(flying) : flying
  const leasing = options.leases ? withLeases(reserving) : reserving
  const ruled = options.rules ? withRules(leasing) : leasing
  const schedule = options.bills ? withBills(ruled) : ruled
  const done = new Case(seed)
  const play = new Play(road, schedule, done, { now: START_MS })
  try {
    await play.run()
    if (!done.isBroken && play.isJudged) await probe(play, schedule, done)
  } catch (error) {
    // An exception is no answer either.
    done.check(9, false, () => (error instanceof NoAnswer ? error.message : String((error as Error).stack)))
  }
  await play.end()
  return { case: done, told: play.told }
}

/** Law 5: both roads gave equal answers, up to the first race with a refund. */
export function compare({ case: done, told }: Played, other: Played): void {
  const lengths = [told.length, other.told.length]
  // When one of the plays stopped at a broken law, up to there.
  const length = done.isBroken || other.case.isBroken ? Math.min(...lengths) : Math.max(...lengths)
  for (let i = 0; i < length; i += 1) {
    done.check(5, told[i] === other.told[i], () => `${told[i]} here, ${other.told[i]} on the other road`)
  }
}

/** Calls `act` for each element, `atOnce` at a time. */
export async function forEachOf<T>(
  all: readonly T[],
  act: (one: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < all.length) {
      const one = all[next] as T
      next += 1
      await act(one)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

export interface Wanted {
  readonly road: string
  readonly laws: readonly number[]
  /** The least number of schedules that must have tested each law. */
  readonly schedules: number
  /** The least number of faults that they must have met. Default: 0. */
  readonly faults?: number
}

/** Makes a test that each law held on a road, and one that each law was tested enough. */
export function describeLaws(tally: Tally, { road, laws, schedules, faults = 0 }: Wanted): void {
  const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
  describe(road, () => {
    test.each(laws.map((law) => [law, LAWS[law]] as const))('law %i, %s', (law) => {
      expect(tally.brokenBy(law, road)).toEqual([])
    })

    // Schedules without a denial or refund would prove little.
    const unlessPart = isPart === undefined ? test : test.skip
    unlessPart('every law met denials, refunds and faults', () => {
      for (const law of laws) {
        const row = tally.row(law, road)
        const told = { law, ...row }
        expect(told.schedules).toBeGreaterThanOrEqual(schedules)
        expect([told, told.checks > 0, told.denials > 0, told.refunds > 0]).toEqual([told, true, true, true])
        expect(told.faults).toBeGreaterThanOrEqual(faults)
      }
    })
  })
}
