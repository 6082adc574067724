// Puts reservations into a schedule.
import { Random } from '@tollgate/testing'
import type { Act, Schedule, Step } from './schedule.js'

const FOR_MS = [100, 300, 1000, 5000, 120_000]
const SALT = 0x4e5e4e

export function withReservations(schedule: Schedule): Schedule {
  // Without a clock nothing could be said of them.
  if (schedule.goesBack) return schedule
  const random = new Random(schedule.seed ^ SALT)
  // Beside units that are reserved, a refund to a bucket may give anything up to all.
  const steps = (hasBucket(schedule) ? withoutRefunds(schedule.steps) : schedule.steps).flatMap(
    (step): Step[] => {
      const more = [reserveAs(random, step.act), ...(random.chance(0.5) ? [endOf(random)] : [])]
      return [
        step,
        ...more.flatMap((act) => (act ? [{ gapUs: random.pick([0, 0, 1, 20_000, 300_000]), act }] : [])),
      ]
    },
  )
  return { ...schedule, steps }
}

function hasBucket({ versions, own, stacked }: Schedule): boolean {
  const all = [...versions.flatMap((plans) => Object.values(plans).flat()), ...own, ...stacked]
  return all.some(({ kind }) => kind === 'bucket')
}

function withoutRefunds(steps: readonly Step[]): Step[] {
  return steps.flatMap(({ gapUs, act }): Step[] => {
    if (act.what === 'refund' || act.what === 'settle') return []
    return [{ gapUs, act: act.what === 'burst' ? { ...act, refunds: [] } : act }]
  })
}

/** The same as one of the requests, for one subject. */
function reserveAs(random: Random, act: Act): Act | undefined {
  if (act.what !== 'burst') return undefined
  const ask = random.pick(act.asks)
  return { what: 'reserve', ask: { ...ask, who: ask.who.slice(0, 1) }, forMs: random.pick(FOR_MS) }
}

function endOf(random: Random): Act {
  return {
    what: 'end reservation',
    back: random.int(0, 3),
    units: random.pick([undefined, 0, 1, 2, 3, 5, 9]),
  }
}
