import { GenerationalCache } from '../../base/caches.js'
import { timingFor } from '../../base/clocks.js'
import { toLimitSet, type LimitSet } from '../../plans/limit/limit-set.js'
import { billedSet, type BillingDay } from '../../plans/billed-set.js'
import { countingTo, type Limit } from '../../plans/limit/limit.js'
import type { Subject } from '../../plans/subject.js'
import type { Feature, FeatureHost, ForgetReason } from '../../requests/feature.js'
import { markKey, markName } from '../../requests/key.js'
import type { Part, Request } from '../../requests/request.js'
import type { LimitOutcome, Outcome, RefundRequest, StoreAbilities } from '../../stores/contract.js'
import { ProcessStore } from '../../stores/memory/process-store.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { refundOf } from '../../stores/receipts.js'

/** A subject has used a share of a limit: see the plan option `warnAt`. */
export interface NearLimit {
  readonly subject: Subject
  /** The name of its plan; undefined for a group's own limits and for stacked limits. */
  readonly plan: string | undefined
  /** The group or stacked limit; undefined for the common counters. */
  readonly place: string | undefined
  /** The limit's name, such as `month`. */
  readonly limit: string
  /** The highest share of `warnAt` that is used, such as 0.8. */
  readonly share: number
  /** Units that are used, and that can be: the quota, or the burst of a token bucket. */
  readonly used: number
  readonly quota: number
}

interface NearLimitEvents {
  nearLimit: NearLimit
}

const MOST_KEYS = 10_000
const MOST_DAYS = 1000
/** The most marks in memory. Beyond it, the one that was asked for longest ago is forgotten, and may be told again. */
const MOST_OWN = 100_000
/** A mark is believed for this long, in ms: another process may reset the subject, and the store may lose it. */
const BELIEVED_MS = 60_000

/**
 * Emits `nearLimit` when a subject has used a share of a limit: once in all processes. Each share has a mark in the store. It is a limit
 * of one unit a window, with the window and the algorithm of the limit, under a key of its own. Whoever gets the unit was the first. So
 * marks expire with the window, and every store can count them.
 *
 * A store that answers at once is this process's memory. There, marks would take the room of counters, so they have a store of their own.
 */
export class NearLimits implements Feature {
  readonly #host: FeatureHost<NearLimitEvents>
  readonly #now: () => number
  readonly #own: ProcessStore | undefined
  /** By key and mark: until when a mark is known, in ms. Infinity: it was asked for. */
  readonly #known = new GenerationalCache<Map<string, number>>(MOST_KEYS)
  /** One object for each day, so that stores prepare its limits once. */
  readonly #days = new GenerationalCache<BillingDay>(MOST_DAYS)

  constructor(host: FeatureHost<NearLimitEvents>, { synchronous, testClock }: StoreAbilities) {
    this.#host = host
    this.#now = timingFor(testClock).now
    if (synchronous) this.#own = new ProcessStore(MOST_OWN, testClock)
  }

  note(request: Request, outcome: Outcome): void {
    for (const [part, limits] of limitsByPart(request.parts, outcome.limits)) {
      limits.forEach((own, i) => this.#noteLimit(request, part, i, { ...own, at: outcome.at }))
    }
  }

  #noteLimit(request: Request, part: Part, index: number, own: LimitOutcome & Pick<Outcome, 'at'>): void {
    const limit = part.limits[index] as Limit
    // While a subject is blocked, `remaining` does not say what is used.
    if (!limit.warnAt || own.block) return
    const { toppedUp = 0, over = 0, shortQuota: capacity = limit.capacity } = own
    const used = Math.max(capacity + toppedUp - own.remaining, 0) + over
    // Not a product: 0.55 * 100 is more than 55.
    const passed = limit.warnAt.filter((share) => used / capacity >= share)
    const highest = passed.at(-1)
    // The calendar window in which it was used; a mark that comes later would be of the next one.
    const endsAt = limit.compiled.timeZone === undefined ? Infinity : own.at + own.reset
    const keyOf = (share: number): string => markKey(part.key, markName(part.limits, index, share))
    const known = this.#known.get(part.key)
    // So little is used after another process has renewed or reset the subject. With a limit nearer to the share, units that come and go would
    // make this process ask the store each time.
    if (known) for (const share of limit.warnAt) if (used / capacity < share / 2) known.delete(keyOf(share))
    for (const share of passed) {
      const key = keyOf(share)
      this.#mark({ key, request, part, limit, endsAt }, () => {
        // Lower ones are only marked, so that they are not told later.
        if (share === highest) this.#tell(part, limit, { share, used, quota: capacity })
      })
    }
  }

  /** Marks a share, unless that is known to be done. Calls `onFirst` if no process had marked it. */
  #mark(given: Mark, onFirst: () => void): void {
    const { key, endsAt } = given
    const subjectKey = given.part.key
    const known = this.#known.refresh(subjectKey) ?? new Map<string, number>()
    if ((known.get(key) ?? 0) > this.#now()) return
    known.set(key, Infinity)
    this.#known.set(subjectKey, known)
    const mark = this.#requestFor(given)
    this.#send(mark, (outcome) => {
      const [answer] = outcome?.limits ?? []
      // Without an answer, the next request tries again.
      const leftMs = answer ? Math.max(answer.wait, answer.reset) / 1000 : 0
      const isForgotten = !known.has(key)
      if (!isForgotten) known.set(key, this.#now() + Math.min(leftMs, BELIEVED_MS))
      if (!outcome || answer?.wait !== 0) return
      onFirst()
      // The subject was reset meanwhile, or the mark is of the next window.
      if (isForgotten || outcome.at >= endsAt) this.#takeBack(refundOf(mark, outcome, 1))
    })
  }

  #requestFor({ key, request: { plan }, part, limit, endsAt }: Mark): Request {
    const { subject, shard, planName, place, onStoreFailure } = part
    const ofLimit = markSetOf(limit)
    // A request without the subject's billing day counts in its window all the same.
    const isBilled =
      limit.compiled.bill && endsAt < Infinity && (part.set.billing ?? !endsPlainly(limit, endsAt))
    const set = isBilled ? billedSet(ofLimit, this.#dayAt(endsAt, part.set.billing?.day ?? {})) : ofLimit
    const mark: Part = { key, set, cost: 1, subject, limits: [], planName, place, onStoreFailure, shard }
    return { subject, plan, cost: 1, parts: [mark], limits: [], shard, grant: 'all' }
  }

  /** The billing day on which a window ends. The mark ends then, too, also if the customer's day was moved meanwhile. */
  #dayAt(endsAt: number, { timeZone }: BillingDay): BillingDay {
    const name = `${endsAt} ${timeZone}`
    const day = this.#days.refresh(name) ?? { anchor: new Date(endsAt / 1000), timeZone }
    this.#days.set(name, day)
    return day
  }

  #send(mark: Request, onAnswer: (outcome: Outcome | undefined) => void): void {
    if (this.#own) onAnswer(this.#own.consume([mark])[0])
    else this.#host.send(mark, onAnswer)
  }

  #takeBack(refund: RefundRequest): void {
    if (this.#own) this.#own.refund([refund])
    else void this.#host.refund(refund)
  }

  #tell(part: Part, { name }: Limit, used: Pick<NearLimit, 'share' | 'used' | 'quota'>): void {
    const { subject, planName: plan, place } = part
    this.#host.emit('nearLimit', { subject, plan, place, limit: name, ...used })
  }

  forget(reason: ForgetReason, keys: readonly string[] = []): void {
    if (reason === 'renewed') return this.#forgetMarks(keys)
    if (reason !== 'reset' && reason !== 'perhaps-reset') return
    for (const key of keys) {
      const marks = this.#known.get(key)
      this.#known.delete(key)
      if (marks) this.#own?.reset([...marks.keys()])
      // Marks that are under way are taken back.
      marks?.clear()
    }
    this.#own?.reset(keys)
  }

  /** Of one limit of a subject. Marks that are under way are taken back. */
  #forgetMarks([key = '', ...marks]: readonly string[]): void {
    for (const mark of marks) this.#known.get(key)?.delete(mark)
    this.#own?.reset(marks)
  }
}

/** The mark of a share, and what passed it. */
interface Mark {
  readonly key: string
  readonly request: Request
  readonly part: Part
  readonly limit: Limit
  /** When its window ends, in µs by the store's clock. */
  readonly endsAt: number
}

/** Whether a window of a subject without a billing day ends then, in µs since 1970. */
function endsPlainly({ compiled }: Limit, endsAt: number): boolean {
  return compiled.paramsAt(endsAt / 1000 - 1)['start2'] === endsAt
}

const sets = new WeakMap<Limit, LimitSet>()

/** One object for each limit, so that stores prepare it once. */
function markSetOf(limit: Limit): LimitSet {
  const set = sets.get(limit) ?? toLimitSet([countingTo(limit, 1)])
  sets.set(limit, set)
  return set
}
