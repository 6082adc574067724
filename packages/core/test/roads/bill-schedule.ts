// Adds what businesses sell to a schedule: months with overage, billing days that move at times, bookings and looks at usage.
import { Random } from '@tollgate/testing'
import { HOUR_MS, type LimitSpec } from './limits.js'
import {
  PLACES,
  type Act,
  type Ask,
  type BillingDay,
  type Schedule,
  type Step,
  type Who,
} from './schedule.js'

export type BillAct = Extract<Act, { what: 'bill' }>

const DAY_MS = 24 * HOUR_MS
const DAYS: readonly BillingDay[] = [
  {},
  { anchor: '2026-01-01' },
  { anchor: '2025-08-31T18:30', timeZone: 'America/New_York' },
  { anchor: 15 },
  { timeZone: 'Asia/Kolkata' },
]
const CALLS = ['topUp', 'topUp', 'topUp', 'renew', 'penalize', 'usageOf'] as const
const LIMITS = ['l0', 'l0', 'l1', 'l2', 's.l0'] as const
/** Few, so that calls repeat what was booked. */
const KEYS = 8

/** Before half of the steps, something is booked or looked at. */
export function withBills(schedule: Schedule): Schedule {
  // Apart from all other chances.
  const random = new Random(schedule.seed + 3e9)
  const usual = new Map(schedule.subjects.map(({ id }) => [id, random.pick(DAYS)]))
  const billed = (who: Who): Who => {
    return { ...who, day: random.chance(0.85) ? (usual.get(who.id) ?? {}) : random.pick(DAYS) }
  }
  const subjects = schedule.subjects.map(billed)
  const steps = schedule.steps.flatMap(({ gapUs, act }): Step[] => {
    const step = { gapUs, act: actWith(billed, act) }
    if (!random.chance(0.5)) return [step]
    const gapMs = random.chance(0.7) ? 0 : random.pick([HOUR_MS, 2 * DAY_MS, 9 * DAY_MS, 31 * DAY_MS])
    return [{ gapUs: gapMs * 1000, act: billOf(random, billed(random.pick(subjects.slice(0, 3)))) }, step]
  })
  const versions = schedule.versions.map((plans) =>
    Object.fromEntries(Object.entries(plans).map(([name, specs]) => [name, soldOf(random, specs)])),
  )
  const [own, stacked] = [soldOf(random, schedule.own), soldOf(random, schedule.stacked)]
  return { ...schedule, versions, own, stacked, subjects, steps, hasBills: true }
}

function billOf(random: Random, who: Who): BillAct {
  return {
    what: 'bill',
    call: random.pick(CALLS),
    place: random.pick(PLACES),
    who,
    limit: random.pick(LIMITS),
    units: random.int(1, 9),
    key: `order ${random.int(1, KEYS)}`,
    forMs: random.pick([HOUR_MS, 20 * DAY_MS, 45 * DAY_MS, 100 * DAY_MS]),
  }
}

/** Most plans have a month, and some limits let pass what is beyond their quota. */
function soldOf(random: Random, specs: readonly LimitSpec[]): LimitSpec[] {
  const quota = random.int(3, 14)
  const month: LimitSpec = { kind: 'month', quota, windowMs: 720 * HOUR_MS, burst: quota }
  const isAdded = random.chance(0.6) && specs.every(({ kind }) => kind !== 'month')
  return (isAdded ? [month, ...specs] : specs).map((spec) => {
    const canBeOver = spec.kind === 'month' || spec.kind === 'hour' || spec.kind === 'fixed'
    return canBeOver && random.chance(0.3) ? { ...spec, overage: true } : spec
  })
}

function actWith(billed: (who: Who) => Who, act: Act): Act {
  const askWith = (ask: Ask): Ask => ({ ...ask, who: ask.who.map(billed) })
  if (act.what === 'burst') return { ...act, asks: act.asks.map(askWith) }
  return 'ask' in act ? { ...act, ask: askWith(act.ask) } : act
}
