import { counterName, HOUR_MS, type Kind, type LimitSpec } from './limits.js'
import type { Leases } from './places.js'
import { Random } from '@tollgate/testing'
import type { Subject } from '../../src/index.js'

/** The kinds of routes that requests are made on. `own` is a group with limits in place of the plan's. */
export const PLACES = ['app', 'group', 'own', 'stacked', 'both'] as const
export type Place = (typeof PLACES)[number]

export interface Who {
  readonly id: string
  readonly kind: 'id' | 'ip'
  readonly plan: string
  /** Whether it brings the limits of its plan itself, as they are now, and names no plan. */
  readonly bringsLimits?: boolean
  readonly day?: BillingDay
}

/** What moves the months of a subject. */
export type BillingDay = Pick<Subject, 'anchor' | 'timeZone'>

/** One request. Place `top` is for peeks only: a group that never denies, with the stacked limits on top. */
export interface Ask {
  readonly place: Place | 'top'
  readonly who: readonly Who[]
  readonly cost: number
  /** The process that it comes from, from 0. Undefined for looks. */
  readonly process?: number | undefined
}

export type Act =
  /**
   * Requests of one tick, which reach the store in batches, and refunds in that tick, by how many decisions ago. Right
   * before them other requests end, as in `end`.
   */
  | {
      readonly what: 'burst'
      readonly asks: readonly Ask[]
      readonly refunds: readonly number[]
      readonly ends?: readonly number[]
      /** Whether nobody looks before the next step, while messages may still be under way. Default: false. */
      readonly isFollowed?: boolean
    }
  /** Requests end that are in flight, by how many of those ago they began. */
  | { readonly what: 'end'; readonly back: readonly number[] }
  /** Refunds of decisions, by how many decisions ago. The same one may be refunded twice, at once or later. */
  | { readonly what: 'refund'; readonly back: readonly number[]; readonly atOnce: boolean }
  | { readonly what: 'reserve'; readonly ask: Ask; readonly forMs: number }
  /** Ends a reservation, by how many ago: with the units that it cost, or undefined: it is cancelled. */
  | { readonly what: 'end reservation'; readonly back: number; readonly units: number | undefined }
  | { readonly what: 'settle'; readonly back: number; readonly cost: number }
  | { readonly what: 'reset'; readonly who: Who; readonly process?: number }
  | { readonly what: 'plans'; readonly version: number }
  /** A process ends, and another starts in its place. `isBusy`: it may have messages under way. */
  | { readonly what: 'close'; readonly process: number }
  | { readonly what: 'crash'; readonly process: number; readonly isBusy: boolean }
  /** All leases end; then requests are made, one after another. */
  | { readonly what: 'rest'; readonly asks: readonly Ask[] }
  /** A request that, if it is denied, comes back after the time that it was told. */
  | { readonly what: 'wait'; readonly ask: Ask }
  /** A rule that multiplies a plan's limits; without a factor, it is lifted. */
  | { readonly what: 'scale'; readonly plan: string; readonly factor: number | undefined }
  /** A request, of one subject, while a rule gives it the limits of another plan. */
  | { readonly what: 'override'; readonly ask: Ask; readonly plan: string }
  /** A request while a rule blocks one of its subjects. */
  | { readonly what: 'block'; readonly ask: Ask; readonly who: Who }
  /** A booking on a limit, by its name, or a look at what was used of it. */
  | {
      readonly what: 'bill'
      readonly call: 'topUp' | 'renew' | 'penalize' | 'usageOf'
      readonly place: Place
      readonly who: Who
      readonly limit: string
      readonly units: number
      readonly key: string
      readonly forMs: number
    }

export interface Step {
  readonly gapUs: number
  readonly act: Act
}

export type Plans = Readonly<Record<string, readonly LimitSpec[]>>

export interface Schedule {
  readonly seed: number
  /** Whether the clock goes back at times. Then only checks without a clock are made. */
  readonly goesBack: boolean
  /** The plans that acts of kind `plans` choose from, by index. */
  readonly versions: readonly Plans[]
  readonly own: readonly LimitSpec[]
  readonly stacked: readonly LimitSpec[]
  readonly subjects: readonly Who[]
  readonly steps: readonly Step[]
  /** Whether units are sold beside the quota, which the oracle does not know. Then only checks without it are made. */
  readonly hasBills?: boolean
  /** Whether there are limits of requests in flight. */
  readonly hasFlights?: boolean
  /** Default: nothing is leased. */
  readonly leases?: Leases
  /** Default: as many as the road has. */
  readonly processes?: number
}

export interface ScheduleOptions {
  /** Default: all of them. */
  readonly kinds?: readonly Kind[]
  readonly windowsMs?: readonly number[]
  /** Whether time passes between steps. Default: true; false when the test does not set the store's clock. */
  readonly gaps?: boolean
  /** The most steps of a schedule; the least is half as many. */
  readonly steps?: number
  /** Whether plans limit requests in flight. Default: false. */
  readonly inFlight?: boolean
  /** Whether units are reserved. Default: false. */
  readonly reserves?: boolean
  /** Whether rules are set and lifted. Only for one process, without leases. Default: false. */
  readonly rules?: boolean
  /** Whether subjects have billing days, and units are booked. Without leases. Default: false. */
  readonly bills?: boolean
  /** Whether several processes lease. Then limits are large, and steps are many. Default: false. */
  readonly leases?: boolean
}

const ALL_KINDS: readonly Kind[] = [
  'log',
  'log',
  'coarse',
  'window',
  'fixed',
  'hour',
  'month',
  'bucket',
  'bucket',
]
const WINDOWS_MS = [700, 1000, 2500, 60_000]
/** What is worth a lease. A log has fewer units, so that it is exact. */
const LARGE = [200, 1000, 3000]
const LEAST_LARGE = 100
const MOST_OF_EXACT_LOG = 128
export const PLAN_NAMES = ['free', 'pro', 'team'] as const
const PLAIN = ['org', 'user-1', 'user-2', '10.0.0.1', '2001:db8::']
/** Hostile ids, in pairs that a mistake could confuse. */
const HOSTILE: readonly (readonly [string, string])[] = [
  ['__proto__', 'constructor'],
  ['a\r\nX-Injected: 1', 'a\nX-Injected: 1'],
  ['{a}', '}{'],
  ['{', '}'],
  ['\u0000', '\u0001'],
  ['\ud800', '\udbff'],
  ['é', 'e\u0301'],
  ['acme', 'acme '],
  ['acme', 'ACME'],
  ['*', '!s'],
  ['acme!s', 'acme'],
  ['acme*g', 'acme'],
  ['@acme', '#acme'],
  [`${'x'.repeat(5000)}1`, `${'x'.repeat(5000)}2`],
]

const MOST_STEPS = 14

/** Makes a random schedule, the same for the same seed and options. */
export function scheduleOf(seed: number, options: ScheduleOptions = {}): Schedule {
  const random = new Random(seed)
  const maker = new LimitMaker(random, options)
  const goesBack = options.gaps !== false && !options.leases && random.chance(0.05)
  const versions = [maker.plans(), maker.plans()]
  const own = maker.limits()
  const stacked = maker.limits(1)
  const subjects = subjectsOf(random)
  const most = options.steps ?? MOST_STEPS
  const count = random.int(Math.ceil(most / 2), most)
  // Apart from all other chances.
  const bringing = new Random(seed + 1e9)
  const kit = {
    random,
    bringing,
    subjects,
    goesBack,
    canRace: random.chance(0.2),
    windowsMs: maker.windowsMs,
  }
  const steps = Array.from({ length: count }, () => ({
    gapUs: options.gaps === false ? 0 : gapOf(kit),
    act: actOf(kit),
  }))
  return { seed, goesBack, versions, own, stacked, subjects, steps }
}

class LimitMaker {
  readonly windowsMs: readonly number[]
  readonly #random: Random
  readonly #kinds: readonly Kind[]
  readonly #isLarge: boolean
  /** By window: all buckets of one window are equal, because the oracle's bucket has one rate. */
  readonly #buckets = new Map<number, LimitSpec>()

  constructor(random: Random, { kinds = ALL_KINDS, windowsMs = WINDOWS_MS, leases }: ScheduleOptions) {
    this.#random = random
    this.#kinds = kinds
    this.#isLarge = leases === true
    this.windowsMs = random.some(windowsMs, 2)
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
    const kind = random.pick(this.#kinds)
    const size = (): number => {
      return this.#isLarge ? random.int(LEAST_LARGE, random.pick(LARGE)) : random.int(1, 14)
    }
    const quota = Math.min(size(), kind === 'log' ? MOST_OF_EXACT_LOG : Infinity)
    if (kind === 'hour') return { kind, quota, windowMs: HOUR_MS, burst: quota }
    if (kind === 'month') return { kind, quota, windowMs: 720 * HOUR_MS, burst: quota }
    // Logs of one length share a counter, whatever their precision. So coarse logs get another length.
    const windowMs = random.pick(this.windowsMs) + (kind === 'coarse' ? 100 : 0)
    const made: LimitSpec = { kind, quota, windowMs, burst: size() }
    if (kind !== 'bucket') return made
    const known = this.#buckets.get(windowMs) ?? made
    this.#buckets.set(windowMs, known)
    return known
  }
}

/** Three plain and two hostile ids, in random order. The first ones get the most requests. */
function subjectsOf(random: Random): Who[] {
  const who = (id: string): Who => {
    const kind = /^[\d.:]+$|db8/.test(id) || random.chance(0.1) ? 'ip' : 'id'
    return { id, kind, plan: random.pick(PLAN_NAMES) }
  }
  const plain = random.some(PLAIN, 3)
  return random.some([...plain, ...random.pick(HOSTILE)], 5).map(who)
}

export function isHostile({ id }: Who): boolean {
  return HOSTILE.some((pair) => pair.includes(id))
}

interface Kit {
  readonly random: Random
  readonly bringing: Random
  readonly subjects: readonly Who[]
  readonly goesBack: boolean
  readonly canRace: boolean
  readonly windowsMs: readonly number[]
}

/** The time in µs before a step: often right at the edges of windows, where mistakes are likely. */
function gapOf({ random, goesBack, windowsMs }: Kit): number {
  if (goesBack && random.chance(0.2)) return -random.pick([1, 250_000, 2_000_000])
  if (random.chance(0.35)) return 0
  const windowUs = random.pick(windowsMs) * 1000
  if (random.chance(0.3)) {
    return random.pick([1, 999, 1000, Math.floor(windowUs / 2), windowUs - 1, windowUs, windowUs + 1])
  }
  if (random.chance(0.04)) return random.pick([HOUR_MS * 1000, 31 * 24 * HOUR_MS * 1000])
  return random.int(0, random.chance(0.7) ? Math.floor(windowUs / 3) : 2 * windowUs)
}

function actOf(kit: Kit): Act {
  const { random } = kit
  const back = (): number => random.int(0, 5)
  const dice = random.next()
  if (dice < 0.62) return burstOf(kit)
  if (dice < 0.82) {
    const several = Array.from({ length: random.int(1, 2) }, back)
    return {
      what: 'refund',
      back: random.chance(0.3) ? several.flatMap((one) => [one, one]) : several,
      atOnce: random.chance(0.5),
    }
  }
  if (dice < 0.92) return { what: 'settle', back: back(), cost: random.int(0, 8) }
  if (dice < 0.95) return { what: 'reset', who: random.pick(kit.subjects) }
  return { what: 'plans', version: random.int(0, 1) }
}

function burstOf(kit: Kit): Act {
  const { random, canRace } = kit
  const asks = Array.from({ length: random.chance(0.5) ? 1 : random.int(2, 6) }, () => askOf(kit))
  const refunds = canRace && random.chance(0.4) ? [random.int(0, 5)] : []
  return { what: 'burst', asks, refunds }
}

function askOf({ random, bringing, subjects }: Kit): Ask {
  const count = random.pick([1, 1, 1, 2, 2, 3])
  // Mostly the first subjects on their own plan, so that their counters fill up.
  const from = random.chance(0.7) ? subjects.slice(0, Math.max(count, 3)) : subjects
  const who = random.some(from, count).map((one) => {
    const moved = random.chance(0.2) ? { ...one, plan: random.pick(PLAN_NAMES) } : one
    return bringing.chance(0.2) ? { ...moved, bringsLimits: true } : moved
  })
  const place = random.pick(['app', 'app', 'app', ...PLACES] as const)
  return { place, who, cost: random.chance(0.5) ? 1 : random.int(1, 7) }
}
