// Random schedules of several processes that lease.
import { counterName, HOUR_MS, type Kind, type LimitSpec } from './limits.js'
import type { Leases } from './places.js'
import { Random } from './random.js'
import { PLACES, PLAN_NAMES, subjectsOf, type Ask, type Plans, type Schedule, type Who } from './schedule.js'

export interface Tick {
  /** The time in µs before it. */
  readonly gapUs: number
  /** Requests of one moment. */
  readonly asks: readonly ProcessAsk[]
}

export interface ProcessAsk extends Ask {
  /** The process that gets it. */
  readonly process: number
}

export type LeaseAct =
  | { readonly what: 'burst'; readonly ticks: readonly Tick[] }
  /** Refunds of decisions, by how many decisions ago. */
  | { readonly what: 'refund'; readonly back: readonly number[]; readonly isTwice: boolean }
  | { readonly what: 'settle'; readonly back: number; readonly cost: number }
  | { readonly what: 'reset'; readonly who: Who; readonly process: number }
  | { readonly what: 'plans'; readonly version: number }
  | { readonly what: 'close'; readonly process: number }
  /** `isBusy`: it may have messages under way. */
  | { readonly what: 'crash'; readonly process: number; readonly isBusy: boolean }
  /** All leases end; then every answer is exact. */
  | { readonly what: 'rest'; readonly asks: readonly ProcessAsk[] }
  /** A request that, if it is denied, comes back after the time that it was told. */
  | { readonly what: 'wait'; readonly ask: ProcessAsk }

export interface LeaseStep {
  readonly gapUs: number
  readonly act: LeaseAct
}

export interface LeaseSchedule extends Pick<Schedule, 'seed' | 'versions' | 'own' | 'stacked' | 'subjects'> {
  readonly leases: Leases
  readonly processes: number
  readonly steps: readonly LeaseStep[]
}

const KINDS: readonly Kind[] = [
  'log',
  'coarse',
  'coarse',
  'window',
  'fixed',
  'hour',
  'month',
  'bucket',
  'bucket',
]
const WINDOWS_MS = [700, 1000, 2500, 10_000, 60_000, 60_000]
/** The most units of a log that is exact without leases. */
const EXACT_LOG = 128
const MOST_STEPS = 12

/** Makes a random schedule, the same for the same seed. */
export function leaseScheduleOf(seed: number): LeaseSchedule {
  const random = new Random(seed)
  const maker = new LimitMaker(random)
  const versions = [maker.plans(), maker.plans()]
  const [own, stacked] = [maker.limits(), maker.limits(1)]
  const leases = Object.fromEntries(
    [...PLAN_NAMES, 'own', 'stacked'].map((name) => [name, random.chance(0.9) ? leaseOf(random) : undefined]),
  )
  const subjects = subjectsOf(random)
  const processes = random.pick([1, 2, 2, 3])
  const kit: Kit = { random, subjects, processes, windowsMs: maker.windowsMs, hot: hotOf(random, subjects) }
  const steps: LeaseStep[] = []
  for (let left = random.int(MOST_STEPS / 2, MOST_STEPS); left > 0; left -= 1) {
    if (random.chance(0.12)) steps.push(...whileLeasesLast(kit))
    else steps.push(stepOf(kit))
  }
  return { seed, versions, own, stacked, leases, subjects, processes, steps }
}

function stepOf(kit: Kit): LeaseStep {
  const { random } = kit
  const act = actOf(kit)
  // Mostly while the leases last.
  const isSoon = random.chance(
    act.what === 'refund' || act.what === 'settle' || act.what === 'wait' ? 0.7 : 0,
  )
  return { gapUs: isSoon ? random.int(0, 3000) : gapOf(kit), act }
}

/** One process leases, has units given back or a subject reset, goes on, and is looked at when that matters most. */
function whileLeasesLast(kit: Kit): LeaseStep[] {
  const { random } = kit
  const only = random.int(0, kit.processes - 1)
  const soon = (): number => random.int(0, 3000)
  const burst = (): LeaseAct => burstOf(kit, only)
  const back = Array.from({ length: 12 }, (_, i) => i)
  const change: LeaseAct = random.chance(0.6)
    ? { what: 'refund', back, isTwice: false }
    : { what: 'reset', who: random.pick(random.pick(kit.hot).who), process: only }
  const edgeUs = Math.max(random.pick(kit.windowsMs) * 1000 - random.int(0, 60_000), 0)
  return [
    { gapUs: gapOf(kit), act: burst() },
    { gapUs: soon(), act: change },
    { gapUs: soon(), act: burst() },
    { gapUs: edgeUs, act: burst() },
  ]
}

function leaseOf(random: Random): Leases[string] {
  return {
    maxMs: random.pick([10, 20, 50, 100, 250, 500]),
    maxShare: random.pick([0.16, 0.25, 0.25, 0.5, 1]),
  }
}

class LimitMaker {
  readonly windowsMs: readonly number[]
  readonly #random: Random
  /** By window: all buckets of one window are equal, because the oracle's bucket has one rate. */
  readonly #buckets = new Map<number, LimitSpec>()

  constructor(random: Random) {
    this.#random = random
    this.windowsMs = random.some(WINDOWS_MS, 2)
  }

  plans(): Plans {
    return Object.fromEntries(PLAN_NAMES.map((name) => [name, this.limits()]))
  }

  /** Makes 1 to `most` limits, each with a counter of its own. */
  limits(most = 3): LimitSpec[] {
    const found = new Map<string, LimitSpec>()
    for (let left = this.#random.int(1, most); left > 0; left -= 1) {
      const limit = this.#limit()
      found.set(counterName(limit), limit)
    }
    return [...found.values()]
  }

  #limit(): LimitSpec {
    const random = this.#random
    const kind = random.pick(KINDS)
    const quota =
      kind === 'log' ? random.int(100, EXACT_LOG) : random.int(100, random.pick([200, 1000, 3000]))
    if (kind === 'hour') return { kind, quota, windowMs: HOUR_MS, burst: quota }
    if (kind === 'month') return { kind, quota, windowMs: 720 * HOUR_MS, burst: quota }
    const windowMs = random.pick(this.windowsMs) + (kind === 'coarse' ? 100 : 0)
    const made: LimitSpec = { kind, quota, windowMs, burst: random.int(100, random.pick([200, 1000, 3000])) }
    if (kind !== 'bucket') return made
    const known = this.#buckets.get(windowMs) ?? made
    this.#buckets.set(windowMs, known)
    return known
  }
}

interface Kit {
  readonly random: Random
  readonly subjects: readonly Who[]
  readonly processes: number
  readonly windowsMs: readonly number[]
  /** What most requests ask. */
  readonly hot: readonly Ask[]
}

function hotOf(random: Random, subjects: readonly Who[]): Ask[] {
  return Array.from({ length: random.pick([1, 1, 2]) }, () => {
    const place = random.pick(['app', 'app', 'app', ...PLACES] as const)
    return { place, who: random.some(subjects.slice(0, 4), random.pick([1, 1, 1, 2, 3])), cost: 1 }
  })
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
    const edges = [
      Math.floor(windowUs / 2),
      windowUs - 10_000,
      windowUs - 1,
      windowUs,
      windowUs + 1,
      2 * windowUs,
    ]
    return random.pick(edges)
  }
  if (random.chance(0.05)) return random.pick([HOUR_MS * 1000, 31 * 24 * HOUR_MS * 1000])
  return random.int(0, Math.floor(windowUs / 4))
}

function actOf(kit: Kit): LeaseAct {
  const { random } = kit
  const process = random.int(0, kit.processes - 1)
  const dice = random.next()
  if (dice < 0.54) return burstOf(kit, random.chance(0.5) ? process : undefined)
  if (dice < 0.68) {
    const back = Array.from({ length: random.int(1, 6) }, () => random.int(0, 20))
    return { what: 'refund', back, isTwice: random.chance(0.3) }
  }
  if (dice < 0.73) return { what: 'settle', back: random.int(0, 20), cost: random.int(0, 25) }
  if (dice < 0.76) return { what: 'reset', who: random.pick(random.pick(kit.hot).who), process }
  if (dice < 0.8) return { what: 'plans', version: random.int(0, 1) }
  if (dice < 0.83) return { what: 'close', process }
  if (dice < 0.86) return { what: 'crash', process, isBusy: random.chance(0.5) }
  if (dice < 0.9) return { what: 'rest', asks: [askOf(kit, 20), askOf(kit, 300)] }
  return { what: 'wait', ask: askOf(kit, 60) }
}

/** 5 to 60 requests, a few at a time, with a few ms between. `only`: the process that gets them all. */
function burstOf(kit: Kit, only?: number): LeaseAct {
  const { random } = kit
  const mostCost = random.pick([1, 1, 2, 5, 20])
  const atOnce = random.pick([1, 3, 8, 8])
  const ticks: Tick[] = []
  for (let left = random.int(5, 60); left > 0;) {
    const count = Math.min(random.int(1, atOnce), left)
    left -= count
    const asks = Array.from({ length: count }, () => askOf(kit, mostCost))
    const sent = only === undefined ? asks : asks.map((ask) => ({ ...ask, process: only }))
    ticks.push({ gapUs: random.pick([0, 100, 500, 1000, 2000, random.int(0, 6000)]), asks: sent })
  }
  return { what: 'burst', ticks }
}

function askOf({ random, subjects, processes, hot }: Kit, mostCost: number): ProcessAsk {
  const process = random.int(0, processes - 1)
  const cost = random.chance(0.3) ? 1 : random.int(1, mostCost)
  if (random.chance(0.9)) return { ...random.pick(hot), cost, process }
  const who = random.some(subjects, random.pick([1, 1, 2])).map((one) => {
    return random.chance(0.3) ? { ...one, plan: random.pick(PLAN_NAMES) } : one
  })
  return { place: random.pick(PLACES), who, cost, process }
}
