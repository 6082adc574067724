// Puts requests in flight into a schedule: limits of them, processes, and requests that end.
import type { LimitSpec } from './limits.js'
import { Random } from '@tollgate/testing'
import type { Act, Ask, Plans, Schedule, Step } from './schedule.js'

/** Around the end of a row in the store, in µs. */
const GAPS_US = [5_000_000, 13_999_000, 14_000_000, 14_001_000]
const SALT = 0xf119_47

/** @param processes how many processes share the store; each burst comes from one of them */
export function withFlights(schedule: Schedule, processes: number): Schedule {
  const random = new Random(schedule.seed ^ SALT)
  const versions = schedule.versions.map((plans) => plansWith(random, plans))
  const [own, stacked] = [limitsWith(random, schedule.own), limitsWith(random, schedule.stacked)]
  const canJump = schedule.steps.some(({ gapUs }) => gapUs !== 0)
  const steps = schedule.steps.flatMap(({ gapUs, act }): Step[] => {
    const gap = canJump && random.chance(0.06) ? random.pick(GAPS_US) : gapUs
    const step = { gapUs: gap, act: actWith(random, act, processes) }
    if (!random.chance(0.4)) return [step]
    return [step, { gapUs: canJump ? random.pick([0, 1, 1000, 300_000]) : 0, act: endsOf(random) }]
  })
  return { ...schedule, versions, own, stacked, steps, hasFlights: true }
}

function plansWith(random: Random, plans: Plans): Plans {
  return Object.fromEntries(Object.entries(plans).map(([name, specs]) => [name, limitsWith(random, specs)]))
}

function limitsWith(random: Random, specs: readonly LimitSpec[]): readonly LimitSpec[] {
  const quota = random.int(1, 4)
  const flight: LimitSpec = { kind: 'flight', quota, windowMs: 0, burst: quota }
  const dice = random.next()
  if (dice < 0.25) return specs
  return dice < 0.4 ? [flight] : specs.toSpliced(random.int(0, specs.length), 0, flight)
}

function actWith(random: Random, act: Act, processes: number): Act {
  if (act.what !== 'burst') return act
  const process = random.int(0, processes - 1)
  // Other processes are told of an end only later, so there it has an act of its own.
  const ends = processes === 1 && random.chance(0.3) ? [random.int(0, 3)] : []
  return { ...act, asks: act.asks.map((ask): Ask => ({ ...ask, process })), ends }
}

function endsOf(random: Random): Act {
  return { what: 'end', back: Array.from({ length: random.int(1, 4) }, () => random.int(0, 5)) }
}
