import { GenerationalCache, LruMap } from '../../base/caches.js'
import { ConfigError } from '../../base/errors.js'
import { needOptions, isWhole } from '../../base/options.js'
import { elapsedMs } from '../../base/timers.js'
import type { Feature, ForgetReason } from '../../requests/feature.js'
import {
  type Part,
  type Request,
  type Verdict,
  isBlocked,
  lackingUnits,
  unitsTaken,
} from '../../requests/request.js'
import type { LimitOutcome, Outcome, SubRequest } from '../../stores/contract.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { Tallies } from './tallies.js'
import { exceptSlots, outcomeAt, rememberDenial, type RememberedDenial } from './remembered-denial.js'

/** The second recheck is for limits with units on lease: unused ones come back sooner than the denial says. */
const [MOST_KEYS, RECHECK_MS, LEASED_RECHECK_MS] = [10_000, 1000, 100]

/**
 * Remembers the store's denials, and denies the same again until the earliest moment at which it can fit. Requests that
 * take units meanwhile make that wait no shorter. `forget` hears of what else this process does to a key. To notice what
 * other processes do, one request asks the store after `recheckMs`, while the others are still denied.
 *
 * Covers only limits in time, where time alone gives units back. Slots come back when a request ends, in any process, so
 * what a limit of requests in flight said is never remembered.
 *
 * If denials block a key, those from memory count, too: the request that asks the store reports them.
 */
export class Denials implements Feature {
  readonly #denials: DenialsByKey
  readonly #tallies: Tallies
  /** When keys were last forgotten. An outcome from before can still arrive after that, on another connection. */
  readonly #forgottenAt: GenerationalCache<number>
  readonly #recheckMs: number
  /** How long the others are still denied while one request asks the store. */
  readonly #graceMs: number
  readonly #clock: () => number
  readonly #idleUnits: (key: string) => number
  readonly #isReal: boolean

  constructor(options: DenialsOptions) {
    const { recheckMs = RECHECK_MS, size = MOST_KEYS, by, deadlineMs, clock, idleUnits = () => 0 } = options
    this.#denials = new DenialsByKey(size)
    this.#tallies = new Tallies(by, size)
    this.#forgottenAt = new GenerationalCache(size)
    this.#recheckMs = recheckMs
    this.#graceMs = Math.min(deadlineMs, recheckMs)
    this.#clock = clock ?? elapsedMs
    this.#idleUnits = idleUnits
    this.#isReal = clock === undefined
  }

  answer(request: Request, isPeek: boolean): Verdict | undefined {
    if (isPeek || this.#denials.isEmpty) return undefined
    const { parts } = request
    if (this.#tallies.size > 0 && this.#mustReport(parts)) return undefined
    if (parts.length !== 1) return this.#answerJoint(request)
    const denial = this.#denials.find(parts[0] as Part)
    if (!denial) return undefined
    const now = this.#clock()
    if (!this.#holds(denial, now, (parts[0] as Part).key)) return undefined
    if (now >= denial.recheckAt) return this.#recheck(denial, now)
    return {
      source: 'cache',
      allowed: false,
      step: request,
      outcome: this.#deny(parts[0] as Part, denial, now),
    }
  }

  /** Whether so many denials came from memory that they begin a block: then this request reports them. */
  #mustReport(parts: readonly Part[]): boolean {
    let must = false
    for (const part of parts) {
      const denial = this.#tallies.areEnough(part) ? this.#denials.find(part) : undefined
      // If another request asks the store already, that one has reported them. And a block has begun already.
      if (!denial || denial.recheckAt === Infinity || isBlocked(denial.outcome)) continue
      this.#recheck(denial, this.#clock())
      must = true
    }
    return must
  }

  /** Denials by a block count no more. */
  #deny({ key }: Part, denial: RememberedDenial, now: number): Outcome {
    const outcome = outcomeAt(denial, now)
    if (denial.set.blockAfter && !isBlocked(outcome)) this.#tallies.count(key, now)
    return outcome
  }

  prepare(request: Request): Request {
    return this.#tallies.report(request, this.#clock())
  }

  learn(step: Request, outcome: Outcome, sentAtMs: number): void {
    const { parts, grant } = step
    for (const { key, tally } of parts) if (tally) this.#tallies.counted(key, tally)
    if (unitsTaken(step, outcome) > 0) {
      // The units make the waits of others longer. And if this cost was denied before, that no longer holds.
      if (!this.#denials.isEmpty) for (const { key } of parts) this.#denials.delete(key)
      return
    }
    // A reservation can be denied though its units are there.
    if (grant !== 'all' || step.hold?.kind === 'reservation') return
    const arrivedAt = this.#clock()
    const sentAt = this.#isReal ? sentAtMs : arrivedAt - (elapsedMs() - sentAtMs)
    const times = { at: outcome.at, sentAt, sentAtMs, arrivedAt }
    for (const [part, limits] of limitsByPart(parts, outcome.limits)) this.#learnPart(part, limits, times)
  }

  /** Denials are remembered under their limits, and new plans have new limits. So they are still right when plans are replaced. */
  forget(reason: ForgetReason, keys: readonly string[] = []): void {
    const now = elapsedMs()
    for (const key of keys) {
      this.#denials.delete(key)
      if (reason !== 'changed' && reason !== 'rules' && reason !== 'renewed') this.#tallies.forget(key)
      this.#forgottenAt.set(key, now)
    }
  }

  /** Denies if any part is known to be denied. Reports those parts and their longest wait. */
  #answerJoint(request: Request): Verdict | undefined {
    let now: number | undefined
    let due: RememberedDenial[] | undefined
    let parts: Part[] | undefined
    const limits: LimitOutcome[] = []
    let at = 0
    for (const part of request.parts) {
      const denial = this.#denials.find(part)
      if (!denial) continue
      now ??= this.#clock()
      if (!this.#holds(denial, now, part.key)) continue
      if (now >= denial.recheckAt) {
        due = [...(due ?? []), denial]
        continue
      }
      const certain = this.#deny(part, denial, now)
      at = certain.at
      limits.push(...certain.limits)
      parts = [...(parts ?? []), part]
    }
    if (parts) return { source: 'cache', allowed: false, step: request, outcome: { at, limits }, parts }
    if (now !== undefined) for (const denial of due ?? []) this.#recheck(denial, now)
    return undefined
  }

  /**
   * Whether a denial still denies. It does not if this process holds the units that it lacked and does not use them. A test's
   * clock can go back to before the denial.
   */
  #holds({ arrivedAt, until, lacking }: RememberedDenial, now: number, key: string): boolean {
    return now < until && now >= arrivedAt && (lacking === Infinity || lacking > this.#idleUnits(key))
  }

  /** Lets this request ask the store. Unless the answer confirms it, the denial ends soon. */
  #recheck(denial: RememberedDenial, now: number): undefined {
    denial.recheckAt = Infinity
    denial.until = Math.min(denial.until, now + this.#graceMs)
  }

  #learnPart(part: SubRequest, answered: readonly LimitOutcome[], times: OutcomeTimes): void {
    const { key, set, cost } = part
    const isDenied = answered.some(({ wait }) => wait !== 0)
    if (!isDenied) return this.#denials.delete(key)
    const limits = set.inFlightIndex === undefined ? answered : exceptSlots(answered, set.inFlightIndex)
    if ((this.#forgottenAt.get(key) ?? -Infinity) >= times.sentAtMs) return
    const { at, sentAt, arrivedAt } = times
    const known = this.#denials.find(part)
    const outcome = { at, limits }
    // The same answer to another request of the same batch, unless that began a block.
    const isSame = known?.outcome.at === at && known.sentAt === sentAt
    if (isSame && (isBlocked(known.outcome) || !isBlocked(outcome))) return
    const isLeased = limits.some(({ leased = 0 }) => leased > 0)
    const recheckMs = isLeased ? Math.min(LEASED_RECHECK_MS, this.#recheckMs) : this.#recheckMs
    const lacking = isLeased ? lackingUnits(part, 'all', answered) : Infinity
    const made = rememberDenial({ set, cost, outcome, sentAt, arrivedAt, recheckMs, lacking })
    this.#denials.replace(part, made, arrivedAt)
  }
}

/** A store's answer, with its times by the clock that denials age by. */
interface OutcomeTimes extends Pick<RememberedDenial, 'sentAt' | 'arrivedAt'> {
  readonly at: number
  readonly sentAtMs: number
}

/** A key is remembered with at most this many pairs of cost and limits. */
const MOST_OF_A_KEY = 4

/** The remembered denials of each key, newest first. When it is full, the key whose last denial is oldest is dropped. */
class DenialsByKey {
  readonly #first: LruMap<RememberedDenial>

  /** @param size the most keys */
  constructor(size: number) {
    this.#first = new LruMap(size)
  }

  get isEmpty(): boolean {
    return this.#first.size === 0
  }

  /** The denial of exactly this cost by these limits: another cost has another wait. */
  find({ key, set, cost }: SubRequest): RememberedDenial | undefined {
    let denial = this.#first.get(key)
    while (denial && (denial.set !== set || denial.cost !== cost)) denial = denial.next
    return denial
  }

  /**
   * Replaces the denial of this cost by these limits. Drops those of the key that are over.
   *
   * @param made undefined: the old one is only removed
   */
  replace(part: SubRequest, made: RememberedDenial | undefined, now: number): void {
    const { key } = part
    const others = this.#others(part, now)
    if (made) made.next = others
    const first = made ?? others
    if (first) this.#first.use(key, first)
    else this.#first.delete(key)
  }

  delete(key: string): void {
    this.#first.delete(key)
  }

  #others({ key, set, cost }: SubRequest, now: number): RememberedDenial | undefined {
    const kept: RememberedDenial[] = []
    for (let denial = this.#first.get(key); denial; denial = denial.next) {
      if ((denial.set !== set || denial.cost !== cost) && now < denial.until) kept.push(denial)
    }
    return kept
      .slice(0, MOST_OF_A_KEY - 1)
      .reduceRight<RememberedDenial | undefined>((next, denial) => Object.assign(denial, { next }), undefined)
  }
}

/** How long the store's denials are remembered, and how many. */
export interface RememberOptions {
  /**
   * How long a denial is answered from memory before one request asks the store again, in ms, from 1 to 60 000. What
   * other processes do, such as a reset or a refund, takes effect within this time and that of one call. Default: 1000.
   */
  readonly recheckMs?: number | undefined
  /** How many denied keys are remembered, from 1 to 10 000 000. A new one replaces the oldest. Default: 10 000. */
  readonly size?: number | undefined
}

/** What the limiter adds to them. */
interface DenialsOptions extends RememberOptions {
  /** As in DenialTally. */
  readonly by: string
  /** The longest that a request waits for the store, in ms. */
  readonly deadlineMs: number
  /** The clock that the store counts by, in ms, if that is a test's. Default: the time since the process started. */
  readonly clock?: (() => number) | undefined
  /** Units of a key that this process holds on lease and does not use. Default: none. */
  readonly idleUnits?: ((key: string) => number) | undefined
}

const LONGEST_RECHECK_MS = 60_000
/** A Map cannot hold many more. */
const LARGEST_SIZE = 10_000_000

/** @throws {ConfigError} when it is neither false nor valid options */
export function needRememberOptions(path: string, given: unknown): void {
  if (given === false) return
  if (typeof given !== 'object') {
    throw ConfigError.wrong(path, given, 'false to ask the store every time, or options: { recheckMs: 1000 }')
  }
  needOptions(given, ['recheckMs', 'size'], path)
  const { recheckMs = 1, size = 1 } = given as RememberOptions
  if (!isWhole(recheckMs, 1, LONGEST_RECHECK_MS)) {
    const expected = `a whole number of ms from 1 to ${LONGEST_RECHECK_MS}`
    throw ConfigError.wrong(`${path}.recheckMs`, recheckMs, expected)
  }
  if (!isWhole(size, 1, LARGEST_SIZE)) {
    throw ConfigError.wrong(`${path}.size`, size, `a whole number from 1 to ${LARGEST_SIZE}`)
  }
}
