// Random schedules of two processes in which one subject meets everything at once: reservations, leases, requests in flight,
// denials from memory, requests that wait, and limits that it brings and that change.
import { counterName, type Kind, type LimitSpec } from './limits.js'
import { Random } from '@tollgate/testing'
import type { Ask, Who } from './schedule.js'
import type { LeaseOptions } from '../../src/plans/options/lease-option.js'
import type { WaitOptions } from '../../src/plans/options/wait-option.js'

export const PROCESSES = 2

export interface JointPlan {
  readonly limits: readonly LimitSpec[]
  readonly wait?: WaitOptions
  readonly lease?: LeaseOptions
}

/** A request of one of the processes. */
export interface JointAsk extends Ask {
  readonly process: number
}

/** `back`: how many of its kind ago. */
export type JointAct =
  | { readonly what: 'consume'; readonly ask: JointAsk }
  | { readonly what: 'reserve'; readonly ask: JointAsk; readonly forMs: number }
  /** `units`: undefined to cancel. */
  | { readonly what: 'end reservation'; readonly back: number; readonly units: number | undefined }
  /** A request in flight ends. */
  | { readonly what: 'release'; readonly back: number }
  /** `cost`: undefined to refund all. */
  | { readonly what: 'settle'; readonly back: number; readonly cost: number | undefined }
  /** The client of a waiting request goes away. */
  | { readonly what: 'leave'; readonly back: number }
  /** The event loop turns, so that what was asked goes out. */
  | { readonly what: 'turn'; readonly turns: number }
  | { readonly what: 'flush scripts' }

/** Acts of one moment, all under way at once. */
export interface JointStep {
  readonly gapUs: number
  /** By how much the store's clock steps back before it, in µs. */
  readonly backUs: number
  readonly acts: readonly JointAct[]
  /** Whether the processes then look where all limits stand. */
  readonly isLooked: boolean
}

export interface JointSchedule {
  readonly seed: number
  /** Plans that subjects name. Those of names that begin with `own` they bring themselves. */
  readonly plans: Readonly<Record<string, JointPlan>>
  readonly subjects: readonly Who[]
  readonly steps: readonly JointStep[]
  /** For how long denials are remembered; undefined: not at all. */
  readonly recheckMs: number | undefined
  readonly longestWindowMs: number
}

const KINDS: readonly Kind[] = ['log', 'log', 'log', 'coarse', 'window', 'fixed', 'bucket', 'bucket']
const WINDOWS_MS = [700, 1000, 2000]
const [NAMED, OWN] = [
  ['plain', 'busy', 'line', 'crowd', 'leased'],
  ['own-0', 'own-1', 'own-2', 'own-3'],
] as const
/** A reservation of an hour that ends early must not keep its key for so long. */
const FOR_MS = [300, 2000, 3_600_000]
/** All steps together take less than the store keeps slots of which it hears nothing. */
const MOST_STEPS = 16

export function jointScheduleOf(seed: number): JointSchedule {
  const random = new Random(seed)
  const maker = new PlanMaker(random)
  const plans = Object.fromEntries([...NAMED, ...OWN].map((name) => [name, maker.plan(name)]))
  const subjects = random.some(['org', 'user', 'acme!s', 'é'], 2).map((id): Who => {
    return { id, kind: 'id', plan: 'plain' }
  })
  const goesBack = random.chance(0.35)
  const kit: Kit = {
    random,
    subjects,
    hot: random.some([...NAMED], random.int(2, 4)),
    canFlush: random.chance(0.6),
  }
  const steps: JointStep[] = []
  for (let left = random.int(MOST_STEPS / 2, MOST_STEPS); left > 0; left -= 1) {
    const backUs = goesBack && random.chance(0.2) ? random.pick([1, 50_000, 400_000, 3_000_000]) : 0
    const gapUs = gapOf(random, maker.windowsMs)
    steps.push({ gapUs, backUs, acts: actsOf(kit), isLooked: random.chance(0.3) })
    if (random.chance(0.15)) steps.push(...hotSteps(kit))
    if (random.chance(0.15)) steps.push(...freeingSteps(kit))
  }
  const recheckMs = random.chance(0.6) ? random.pick([100, 500]) : undefined
  return { seed, plans, subjects, steps, recheckMs, longestWindowMs: Math.max(...maker.windowsMs) + 100 }
}

/** All plans count in the same few counters, each up to its own quota. */
class PlanMaker {
  readonly windowsMs: readonly number[]
  readonly #random: Random
  readonly #counters: LimitSpec[]

  constructor(random: Random) {
    this.#random = random
    this.windowsMs = random.some(WINDOWS_MS, 2)
    const found = new Map<string, LimitSpec>()
    for (let left = random.int(1, 3); left > 0; left -= 1) {
      const kind = random.pick(KINDS)
      const windowMs = random.pick(this.windowsMs) + (kind === 'coarse' ? 100 : 0)
      const spec = { kind, windowMs, quota: random.int(100, 128), burst: random.int(64, 128) }
      found.set(counterName(spec), spec)
    }
    this.#counters = [...found.values()]
  }

  plan(name: string): JointPlan {
    const random = this.#random
    if (name === 'leased') {
      const lease = { maxMs: random.pick([20, 100, 300]), maxShare: random.pick([0.25, 0.5]) }
      return { limits: this.#counters.map((spec) => this.#limit(spec, random.int(100, 128))), lease }
    }
    const some = random.some(this.#counters, random.int(1, 2))
    const mostOf = random.pick([12, 30, 60])
    const limits = some.map((spec) => this.#limit(spec, random.int(4, mostOf)))
    const quota = random.int(1, 5)
    const flight: LimitSpec = { kind: 'flight', quota, windowMs: 0, burst: quota }
    const isBusy = name === 'busy' || name === 'crowd' || (name.startsWith('own') && random.chance(0.4))
    const all = isBusy ? [...limits, flight] : limits
    if (name !== 'line' && name !== 'crowd') return { limits: all }
    return { limits: all, wait: { maxDelay: random.pick([200, 700, 700]), maxWaiting: random.pick([2, 10]) } }
  }

  /** A bucket is the same in all plans: the oracle's has one rate. */
  #limit(spec: LimitSpec, quota: number): LimitSpec {
    return spec.kind === 'bucket' ? spec : { ...spec, quota, burst: quota }
  }
}

interface Kit {
  readonly random: Random
  readonly subjects: readonly Who[]
  readonly hot: readonly string[]
  readonly canFlush: boolean
}

/** The time in µs before a step: mostly while leases last and requests wait. */
function gapOf(random: Random, windowsMs: readonly number[]): number {
  if (random.chance(0.5)) return random.int(0, 5000)
  if (random.chance(0.6)) return random.int(0, 120_000)
  const windowUs = random.pick(windowsMs) * 1000
  const edges = [
    windowUs / 4,
    windowUs / 3,
    windowUs / 2,
    windowUs - 40_000,
    windowUs - 1,
    windowUs,
    windowUs + 1,
  ]
  return Math.floor(random.pick(edges))
}

/** A subject becomes hot in one process, so that this leases; what else is asked of it comes between. */
function hotSteps(kit: Kit): JointStep[] {
  const { random } = kit
  const [subject] = kit.subjects
  if (!subject) return []
  const process = random.int(0, PROCESSES - 1)
  const ask: JointAsk = { place: 'app', who: [{ ...subject, plan: 'leased' }], cost: 1, process }
  const hot = Array.from({ length: 6 }, (): JointAct => ({ what: 'consume', ask: { ...ask } }))
  return Array.from({ length: random.int(3, 6) }, (_, i): JointStep => {
    const others = i < 2 ? [] : Array.from({ length: random.int(0, 4) }, () => actOf(kit, undefined))
    return {
      gapUs: random.int(200, 3000),
      backUs: 0,
      acts: [...hot, ...others],
      isLooked: random.chance(0.1),
    }
  })
}

/** One process is denied until units of its own come back, and asks again at once. */
function freeingSteps(kit: Kit): JointStep[] {
  const { random } = kit
  const { process, who } = askOf(kit, random.pick(['plain', 'busy', 'leased']))
  const ask = (cost: number): JointAsk => ({ place: 'app', who, cost, process })
  const asks = (cost: number): JointAct[] =>
    Array.from({ length: 4 }, () => ({ what: 'consume', ask: ask(cost) }))
  const fills = [...asks(random.int(1, 4)), ...asks(random.int(1, 30)), ...asks(1)]
  const held: JointAct = { what: 'reserve', ask: ask(random.int(1, 12)), forMs: random.pick(FOR_MS) }
  const frees: JointAct[] = [0, 1, 2].map((back) => ({
    what: 'settle',
    back,
    cost: random.pick([undefined, 0]),
  }))
  const ends: JointAct = { what: 'end reservation', back: 0, units: random.pick([undefined, 0, 1]) }
  return [[held, ...fills], asks(random.int(1, 4)), [...frees, ends], asks(random.int(1, 4))].map((acts) => {
    return { gapUs: random.int(0, 2000), backUs: 0, acts, isLooked: false }
  })
}

function actsOf(kit: Kit): JointAct[] {
  const { random } = kit
  const acts: JointAct[] = []
  // A burst of one plan, as makes a subject hot, or a mix of all.
  const only = random.chance(0.35) ? random.pick(kit.hot) : undefined
  for (let left = random.int(3, only === undefined ? 10 : 24); left > 0; left -= 1) {
    acts.push(actOf(kit, only))
    if (random.chance(0.3)) acts.push({ what: 'turn', turns: random.int(1, 4) })
    if (kit.canFlush && random.chance(0.06)) acts.push({ what: 'flush scripts' })
  }
  return acts
}

function actOf(kit: Kit, only: string | undefined): JointAct {
  const { random } = kit
  const back = random.int(0, 6)
  const dice = random.next()
  if (dice < (only === undefined ? 0.52 : 0.85)) return { what: 'consume', ask: askOf(kit, only) }
  if (dice < 0.62) {
    const { who, ...ask } = askOf(kit, only)
    const cost = random.int(1, random.pick([3, 12, 30]))
    return { what: 'reserve', ask: { ...ask, cost, who: who.slice(0, 1) }, forMs: random.pick(FOR_MS) }
  }
  if (dice < 0.72) {
    return { what: 'end reservation', back, units: random.pick([undefined, 0, 1, 2, 5, 7, 20]) }
  }
  if (dice < 0.86) return { what: 'release', back }
  if (dice < 0.95) return { what: 'settle', back, cost: random.pick([undefined, undefined, 0, 1, 2, 9]) }
  return { what: 'leave', back }
}

function askOf({ random, subjects, hot }: Kit, only: string | undefined): JointAsk {
  const count = only === undefined && random.chance(0.15) ? 2 : 1
  const who = (random.chance(0.75) ? subjects : subjects.toReversed()).slice(0, count).map((one): Who => {
    if (only !== undefined) return { ...one, plan: only }
    if (random.chance(0.25)) return { ...one, plan: random.pick(OWN), bringsLimits: true }
    return { ...one, plan: random.pick(random.chance(0.8) ? hot : NAMED) }
  })
  const cost = random.chance(only === undefined ? 0.5 : 0.8) ? 1 : random.int(1, random.pick([3, 12, 40]))
  return { place: 'app', who, cost, process: random.int(0, PROCESSES - 1) }
}
