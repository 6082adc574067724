import { newHolderId, newLeaseId } from '../../failure/outbox.js'
import { Denials, type RememberOptions } from '../../features/denials/denials.js'
import { InFlight } from '../../features/in-flight/in-flight.js'
import { NO_LEASES } from '../../features/leases/lease-reporter.js'
import { Leases } from '../../features/leases/leases.js'
import { NearLimits } from '../../features/near-limit/near-limit.js'
import type { Feature, FeatureHost, ForgetReason, GivenBack } from '../../requests/feature.js'
import type { Request, Verdict } from '../../requests/request.js'
import type { Answer, Outcome, Store, StoreRequest } from '../../stores/contract.js'
import type { ChangeEvents } from '../report/events.js'
import type { LimiterStats } from '../report/stats.js'

interface FeaturesOptions {
  readonly store: Store
  readonly rules: Feature
  readonly denials?: RememberOptions | false | undefined
  /** The longest that a request waits for the store, in ms. */
  readonly deadlineMs: number
}

/** Makes a limiter's features, in the order in which they are asked. They must not call the host before it is ready. */
export type MakeFeatures = (host: FeatureHost<ChangeEvents>) => readonly Feature[]

/**
 * The list of features. A store that answers at once is memory itself, so it needs no leases and no remembered denials. If
 * a test sets the store's time, denials are remembered only if the option `denials` is given.
 */
export function createFeatures({ store, rules, denials, deadlineMs }: FeaturesOptions): MakeFeatures {
  const { synchronous, testClock: clock } = store
  const isOff = denials === false || (clock !== undefined && denials === undefined)
  return (host) => {
    const always = [rules, plansWithoutLimits, new InFlight(newHolderId(), host), new NearLimits(host, store)]
    if (synchronous) return always
    const leases = new Leases(host, newLeaseId, clock)
    const idleUnits = (key: string): number => leases.idleUnits(key)
    if (isOff) return [...always, leases]
    return [...always, leases, new Denials({ ...denials, by: newHolderId(), deadlineMs, clock, idleUnits })]
  }
}

/** Answers where nothing is counted: plans without limits allow, and `blocked` ones deny, as do blocks by rules. */
const plansWithoutLimits: Feature = {
  answer(request) {
    if (request.parts.length > 0) return undefined
    if (request.block) return { source: 'rule', allowed: false, step: request }
    const isBlocked = request.isBlocked ?? false
    return { source: isBlocked ? 'blocked' : 'unlimited', allowed: !isBlocked, step: request }
  },
}

/** What features count. */
type FeatureStats = Pick<LimiterStats, 'leases' | 'inFlight' | 'reservations'>

type With<Hook extends keyof Feature> = Feature & Required<Pick<Feature, Hook>>

/** The features of a limiter, gathered by hook, in the order of its list. */
export class Features {
  readonly #all: readonly Feature[]
  readonly #answer: readonly With<'answer'>[]
  readonly #prepare: readonly With<'prepare'>[]
  readonly #learn: readonly With<'learn'>[]
  readonly #note: readonly With<'note'>[]
  readonly #makeRoom: readonly With<'makeRoom'>[]
  readonly #giveBack: readonly With<'giveBack'>[]
  readonly #forget: readonly With<'forget'>[]
  readonly #recover: readonly With<'recover'>[]

  constructor(all: readonly Feature[]) {
    const having = <Hook extends keyof Feature>(hook: Hook): readonly With<Hook>[] =>
      all.filter((feature): feature is With<Hook> => feature[hook] !== undefined)
    this.#all = all
    this.#answer = having('answer')
    this.#prepare = having('prepare')
    this.#learn = having('learn')
    this.#note = having('note')
    this.#makeRoom = having('makeRoom')
    this.#giveBack = having('giveBack')
    this.#forget = having('forget')
    this.#recover = having('recover')
  }

  answer(request: Request, isPeek: boolean): Verdict | undefined {
    for (const feature of this.#answer) {
      const known = feature.answer(request, isPeek)
      if (known) return known
    }
    return undefined
  }

  prepare(request: Request): Request {
    return this.#prepare.reduce((prepared, feature) => feature.prepare(prepared), request)
  }

  learn(request: Request, outcome: Outcome, sentAtMs: number, isPeek: boolean): void {
    for (const feature of this.#learn) feature.learn(request, outcome, sentAtMs, isPeek)
  }

  note(request: Request, outcome: Outcome): void {
    for (const feature of this.#note) feature.note(request, outcome)
  }

  makeRoom(request: Request, outcome: Outcome): Promise<unknown> | undefined {
    for (const feature of this.#makeRoom) {
      const room = feature.makeRoom(request, outcome)
      if (room) return room
    }
    return undefined
  }

  failed(request: Request): void {
    for (const feature of this.#all) feature.failed?.(request)
  }

  late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    for (const feature of this.#all) feature.late?.(batch, answers)
  }

  giveBack(verdict: Verdict, units: number): Promise<GivenBack> | undefined {
    for (const feature of this.#giveBack) {
      const given = feature.giveBack(verdict, units)
      if (given) return given
    }
    return undefined
  }

  forget(reason: ForgetReason, keys?: readonly string[]): void {
    for (const feature of this.#forget) feature.forget(reason, keys)
  }

  async recover(shard: number): Promise<void> {
    const recover = (feature: With<'recover'>): Promise<void> =>
      new Promise((resolve) => feature.recover(shard, resolve))
    await Promise.all(this.#recover.map(recover))
  }

  stop(): void {
    for (const feature of this.#all) feature.stop?.()
  }

  /** @param drain waits for what a feature has sent */
  async end(drain: () => Promise<void>): Promise<void> {
    for (const feature of this.#all) {
      await feature.end?.()
      await drain()
    }
  }

  stats(): FeatureStats {
    const all = this.#all.map((feature) => feature.stats?.())
    return Object.assign({ leases: NO_LEASES }, ...all) as FeatureStats
  }
}
