// Puts leases into a schedule: plans that lease, processes that start and end, and many requests a few ms apart.
import { HOUR_MS } from './limits.js'
import type { Leases } from './places.js'
import { Random } from '@tollgate/testing'
import { PLACES, PLAN_NAMES, type Act, type Ask, type Schedule, type Step, type Who } from './schedule.js'

const SALT = 0x1ea5e

interface Kit {
  readonly random: Random
  readonly subjects: readonly Who[]
  readonly processes: number
  readonly windowsMs: readonly number[]
  /** What most requests ask. */
  readonly hot: readonly Ask[]
}

export function withLeases(schedule: Schedule): Schedule {
  const random = new Random(schedule.seed ^ SALT)
  const { subjects, own, stacked, versions } = schedule
  const all = [...versions.flatMap((plans) => Object.values(plans).flat()), ...own, ...stacked]
  const windowsMs = [...new Set(all.map(({ windowMs }) => windowMs).filter((ms) => ms < HOUR_MS)), 60_000]
  const processes = random.pick([1, 2, 2, 3])
  const kit: Kit = { random, subjects, processes, windowsMs, hot: hotOf(random, subjects) }
  const names = [...PLAN_NAMES, 'own', 'stacked']
  const leases = Object.fromEntries(names.map((name) => [name, leaseOf(random)]))
  const steps = schedule.steps.flatMap(({ act }) => {
    const more = random.chance(0.3) ? endOrWait(kit) : []
    return [...(random.chance(0.12) ? whileLeasesLast(kit) : stepsWith(kit, act)), ...more]
  })
  return { ...schedule, leases, processes, steps }
}

function leaseOf(random: Random): Leases[string] {
  if (random.chance(0.1)) return undefined
  return {
    maxMs: random.pick([10, 20, 50, 100, 250, 500]),
    maxShare: random.pick([0.16, 0.25, 0.25, 0.5, 1]),
  }
}

function hotOf(random: Random, subjects: readonly Who[]): Ask[] {
  return Array.from({ length: random.pick([1, 1, 2]) }, () => {
    const place = random.pick(['app', 'app', 'app', ...PLACES] as const)
    return { place, who: random.some(subjects.slice(0, 4), random.pick([1, 1, 1, 2, 3])), cost: 1 }
  })
}

/** The same with more requests, and what undoes them mostly while the leases last. */
function stepsWith(kit: Kit, act: Act): Step[] {
  const { random } = kit
  if (act.what === 'burst') return burstOf(kit)
  const soon = random.chance(0.7) ? random.int(0, 3000) : gapOf(kit)
  const back = (): number => random.int(0, 20)
  if (act.what === 'refund') {
    const several = Array.from({ length: random.int(1, 6) }, back)
    const all = random.chance(0.3) ? several.flatMap((one) => [one, one]) : several
    return [{ gapUs: soon, act: { what: 'refund', back: all, atOnce: false } }]
  }
  if (act.what === 'settle')
    return [{ gapUs: soon, act: { what: 'settle', back: back(), cost: random.int(0, 25) } }]
  return [{ gapUs: gapOf(kit), act: act.what === 'reset' ? resetOf(kit) : act }]
}

function resetOf({ random, hot, processes }: Kit, process: number = random.int(0, processes - 1)): Act {
  return { what: 'reset', who: random.pick(random.pick(hot).who), process }
}

/** A process ends, all leases do, or a request comes back after the time that it was told. */
function endOrWait(kit: Kit): Step[] {
  const { random } = kit
  const process = random.int(0, kit.processes - 1)
  const act = random.pick<Act>([
    { what: 'close', process },
    { what: 'crash', process, isBusy: random.chance(0.5) },
    { what: 'rest', asks: [askOf(kit, 20), askOf(kit, 300)] },
    { what: 'wait', ask: askOf(kit, 60) },
    { what: 'wait', ask: askOf(kit, 60) },
    { what: 'wait', ask: askOf(kit, 60) },
  ])
  return [{ gapUs: random.chance(0.7) ? random.int(0, 3000) : gapOf(kit), act }]
}

/** One process leases, has units given back or a subject reset, goes on, and is looked at when that matters most. */
function whileLeasesLast(kit: Kit): Step[] {
  const { random } = kit
  const only = random.int(0, kit.processes - 1)
  const soon = (): number => random.int(0, 3000)
  const back = Array.from({ length: 12 }, (_, i) => i)
  const change = random.chance(0.6) ? ({ what: 'refund', back, atOnce: false } as const) : resetOf(kit, only)
  const edgeUs = Math.max(random.pick(kit.windowsMs) * 1000 - random.int(0, 60_000), 0)
  return [
    ...burstOf(kit, { only }),
    { gapUs: soon(), act: change },
    ...burstOf(kit, { only, gapUs: soon() }),
    ...burstOf(kit, { only, gapUs: edgeUs }),
  ]
}

/** The time in µs before a step: often near the ends of leases and of windows. */
function gapOf({ random, windowsMs }: Kit): number {
  const windowUs = random.pick(windowsMs) * 1000
  if (random.chance(0.4)) return random.int(0, 4000)
  if (random.chance(0.4)) {
    const lengthUs = random.pick([10_000, 15_000, windowUs / 64, 100_000, 500_000])
    return Math.max(Math.floor(lengthUs) + random.pick([-5000, -1, 0, 1, 1000]), 0)
  }
  if (random.chance(0.4)) {
    const nearOne = [windowUs - 10_000, windowUs - 1, windowUs, windowUs + 1]
    return random.pick([Math.floor(windowUs / 2), ...nearOne, 2 * windowUs])
  }
  if (random.chance(0.05)) return random.pick([HOUR_MS * 1000, 31 * 24 * HOUR_MS * 1000])
  return random.int(0, Math.floor(windowUs / 4))
}

/** 5 to 60 requests, a few at a time, with a few ms between. `only`: the process that gets them all. */
function burstOf(kit: Kit, { only, gapUs }: { only?: number; gapUs?: number } = {}): Step[] {
  const { random } = kit
  const mostCost = random.pick([1, 1, 2, 5, 20])
  const atOnce = random.pick([1, 3, 8, 8])
  const isHasty = random.chance(0.5)
  const steps: Step[] = []
  for (let left = random.int(5, 60); left > 0;) {
    const count = Math.min(random.int(1, atOnce), left)
    left -= count
    const asks = Array.from({ length: count }, () => {
      const ask = askOf(kit, mostCost)
      return only === undefined ? ask : { ...ask, process: only }
    })
    const first = gapUs ?? gapOf(kit)
    const between = random.pick([0, 100, 500, 1000, 2000, random.int(0, 6000)])
    const act = { what: 'burst', asks, refunds: [], isFollowed: isHasty && left > 0 } as const
    steps.push({ gapUs: steps.length === 0 ? first : between, act })
  }
  return steps
}

function askOf({ random, subjects, processes, hot }: Kit, mostCost: number): Ask {
  const process = random.int(0, processes - 1)
  const cost = random.chance(0.3) ? 1 : random.int(1, mostCost)
  if (random.chance(0.9)) return { ...random.pick(hot), cost, process }
  const who = random.some(subjects, random.pick([1, 1, 2])).map((one) => {
    return random.chance(0.3) ? { ...one, plan: random.pick(PLAN_NAMES) } : one
  })
  return { place: random.pick(PLACES), who, cost, process }
}
