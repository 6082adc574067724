import { NEVER } from '../../algorithms/implementation.js'
import { LruMap, GenerationalCache } from '../../base/caches.js'
import { processClock, type ProcessClock } from '../../base/clocks.js'
import { elapsedMs } from '../../base/timers.js'
import { type CompiledLimit, type LimitSet, scaleSet, capacityOf } from '../../plans/limit/limit-set.js'
import { unitsTaken } from '../../requests/request.js'
import type { Grant, Outcome, StoreRequest, SubRequest, LimitOutcome } from '../../stores/contract.js'
import { ProcessStore } from '../../stores/memory/process-store.js'
import { limitsByPart } from '../../stores/outcome-check.js'
import { refundOf } from '../../stores/receipts.js'
import { levelsIn, levelsOwed, type Levels, type Owed } from './owed-levels.js'
import { takenIn, unitsOf, UsageLedger, type Used } from './usage-ledger.js'

/** How a process limits alone while the store does not answer. */
export interface LocalOptions {
  /**
   * How many processes share the store. While it does not answer, each allows a subject the plan divided by this number.
   * Default: the number that used the store in the last 30 s.
   */
  readonly instances?: number | undefined
  /** The most subjects that are remembered. Each takes 0.5 to 6 kB. Default: 10 000. */
  readonly maxSubjects?: number | undefined
}

/** A request to the local limiter. */
export interface LocalRequest {
  readonly parts: readonly SubRequest[]
  readonly grant: Grant
  /** Set if this is one step of a request: other steps may still deny the request. */
  readonly deadline?: object | undefined
}

interface LocalKey {
  readonly shard: number
  /** Reports of the store from before this time are ignored, in ms. */
  fromMs: number
  /** Whether units were admitted that the store has not been charged for. */
  owes: boolean
  /** How many charges for this key have been sent and not been answered. */
  underWay: number
  /** The levels of its share when it began, or at its last charge. */
  counted?: Levels | undefined
}

/** What was decided here for a request; kept for a refund. */
interface Decided {
  readonly parts: readonly SubRequest[]
  readonly outcome: Outcome
  readonly units: number
  readonly atUs: number
}

/**
 * Limits in this process while the store does not answer: by the same plans, with a share of their quotas. It starts
 * from the store's last answer for a subject. It remembers what it admits, so that the store can be charged.
 */
export class LocalLimiter {
  /** This process's share of every quota, 0 to 1. */
  share = 1
  readonly #clocks: LocalClocks
  #nowMs = 0
  readonly #known: StoreKnowledge
  readonly #keys: LruMap<LocalKey>
  /** Decides by the shares, starting from what the store had counted. */
  readonly #shares: ProcessStore
  readonly #ledger = new UsageLedger()
  readonly #decided = new WeakMap<LocalRequest, Decided>()
  /** For each key, how many of its requests have undecided steps. Their units may go back: they are not charged yet. */
  readonly #held = new Map<string, number>()
  #unitsForgotten = 0
  #asked = 0

  constructor(maxSubjects: number, clocks = CLOCKS) {
    this.#clocks = clocks
    this.#known = new StoreKnowledge(maxSubjects)
    this.#keys = new LruMap(maxSubjects, (key) => this.#forgetOwed(key))
    this.#shares = new ProcessStore(maxSubjects, () => this.#nowMs, clocks.behindMs)
  }

  /** Remembers an answer of the store, which came at `atMs` by this process's clock. */
  note({ parts }: StoreRequest, outcome: Outcome, atMs: number): void {
    this.#known.note(parts, outcome, atMs)
  }

  /** The time in ms since 1970. */
  nowMs(): number {
    return this.#clocks.nowMs()
  }

  /** Decides the given parts of a request. */
  consume(request: LocalRequest & { readonly shard: number }, parts: readonly SubRequest[]): Outcome {
    const asked = this.#prepare(request, parts)
    const outcome = first(this.#shares.consume([asked]))
    const units = unitsTaken(request, outcome)
    if (units === 0) return waitable(outcome, parts)
    const atUs = this.#clocks.elapsedUs()
    for (const [{ key, set }, limits] of limitsByPart(parts, outcome.limits)) {
      this.#unitsForgotten += this.#ledger.add(key, set, takenIn(set, limits, takenOf(limits, units)), atUs)
      const { fromMs = this.#nowMs, underWay = 0, counted } = this.#keys.get(key) ?? {}
      this.#keys.use(key, { shard: request.shard, fromMs, owes: true, underWay, counted })
    }
    this.#decided.set(request, { parts, outcome, units, atUs })
    if (request.deadline) this.#hold(parts, 1)
    return outcome
  }

  peek(request: LocalRequest & { readonly shard: number }, parts: readonly SubRequest[]): Outcome {
    return waitable(first(this.#shares.peek([this.#prepare(request, parts)])), parts)
  }

  /**
   * Gives back units that a request took here. Returns false when the store has been charged for them already.
   *
   * @param units at most the units it took
   */
  refund(request: LocalRequest, units: number): boolean {
    const decided = this.#decided.get(request)
    if (!decided) return false
    const { parts, outcome, atUs } = decided
    const removed = limitsByPart(parts, outcome.limits).map(([{ key, set }, limits]) =>
      this.#ledger.remove(key, set, takenOf(limits, units), atUs),
    )
    if (!removed.includes(true)) return false
    this.#nowMs = this.#clocks.nowMs()
    this.#shares.refund([refundOf({ shard: 0, parts: this.#sharesOf(parts) }, outcome, units)])
    return true
  }

  /** Called when all steps of a request have been decided: its units can be charged now, unless they went back. */
  release(request: LocalRequest): void {
    const decided = this.#decided.get(request)
    if (decided && request.deadline) this.#hold(decided.parts, -1)
  }

  /**
   * Returns what the shards for which `isDue` holds are owed, for about `most` keys, and removes it. The caller must
   * `confirm` each item.
   */
  takeOwed(isDue: (shard: number) => boolean, most: number): Owed[] {
    const owed: Owed[] = []
    for (const [key, known] of this.#keys.entries()) {
      if (owed.length >= most) break
      if (!known.owes || !isDue(known.shard) || this.#held.has(key)) continue
      const used = this.#ledger.take(key)
      owed.push(...used.map((one) => this.#owed(key, known, one)))
      known.owes = false
      known.underWay += used.length
    }
    return owed
  }

  #owed(key: string, known: LocalKey, used: Used): Owed {
    const { set } = used
    const { share } = this
    const atMs = (this.#nowMs = this.#clocks.nowMs())
    const part = { key, set: scaleSet(set, share), cost: 1 }
    const outcome = first(this.#shares.peek([{ shard: 0, grant: 'all', parts: [part] }]))
    const now = levelsIn(outcome, set, share, atMs)
    const levels = levelsOwed(now, known.counted)
    known.counted = now
    return { key, shard: known.shard, used, levels, atUs: this.#clocks.elapsedUs(), share }
  }

  /** Forgets what is owed for some keys: the store will not be charged. Returns the units, of all limits together. */
  dropOwed(parts: readonly SubRequest[]): number {
    let units = 0
    for (const { key } of parts) {
      const known = this.#keys.get(key)
      if (known) known.owes = false
      for (const used of this.#ledger.take(key)) units += unitsOf(used)
    }
    return units
  }

  /** Called when the store has been charged for these units, or when it is clear that it never will be. */
  confirm({ key }: Owed): void {
    const known = this.#keys.get(key)
    if (!known) return
    known.underWay -= 1
    known.fromMs = this.#clocks.nowMs()
  }

  /** Units owed by subjects that were forgotten to make room, counted since the last call. */
  takeForgotten(): number {
    const units = this.#unitsForgotten
    this.#unitsForgotten = 0
    return units
  }

  /** The monotonic clock by which owed units age, in µs. */
  elapsedUs(): number {
    return this.#clocks.elapsedUs()
  }

  forget(key: string): void {
    this.#known.delete(key)
    this.#keys.delete(key)
    this.#ledger.delete(key)
    this.#shares.reset([key])
  }

  #hold(parts: readonly SubRequest[], count: 1 | -1): void {
    for (const { key } of parts) {
      const held = (this.#held.get(key) ?? 0) + count
      if (held > 0) this.#held.set(key, held)
      else this.#held.delete(key)
    }
  }

  #forgetOwed(key: string): void {
    for (const used of this.#ledger.take(key)) this.#unitsForgotten += unitsOf(used)
  }

  #prepare(request: LocalRequest & { readonly shard: number }, parts: readonly SubRequest[]): StoreRequest {
    const nowMs = this.#clocks.nowMs()
    for (const { key } of parts) this.#takeOver(key, request.shard, nowMs)
    this.#nowMs = nowMs
    this.#asked += 1
    const own = parts.map((part) => withOwnSlots(part, this.#held.get(part.key) ?? 0, this.#asked))
    return { shard: 0, grant: request.grant === 'upTo' ? 'upTo' : 'all', parts: this.#sharesOf(own) }
  }

  #sharesOf(parts: readonly SubRequest[]): SubRequest[] {
    return parts.map((part) => ({ ...part, set: scaleSet(part.set, this.share) }))
  }

  /**
   * Replaces the local counts of a key by the store's last answer, unless units were admitted here that this answer
   * does not include.
   */
  #takeOver(key: string, shard: number, nowMs: number): void {
    const known = this.#known.get(key)
    const before = this.#keys.get(key)
    if (before && (before.owes || before.underWay > 0 || !known || known.atMs <= before.fromMs)) return
    this.#shares.reset([key])
    if (!known) {
      this.#keys.use(key, { shard, fromMs: nowMs, owes: false, underWay: 0 })
      return
    }
    const { set, atMs } = known
    this.#nowMs = atMs
    const counted = { set, share: this.share, units: toUsed(known, this.share), atMs }
    this.#keys.use(key, { shard, fromMs: atMs, owes: false, underWay: 0, counted })
    const used = counted.units.map((units) => (units > 0 ? [{ units, ageUs: 0 }] : []))
    const part = { key, set: scaleSet(set, this.share), cost: 1, used }
    this.#shares.consume([{ shard: 0, grant: 'force', parts: [part] }])
  }
}

/** Of limits that observe, only those have taken units that the cost fits. */
function takenOf(limits: readonly LimitOutcome[], units: number): number[] {
  return limits.map(({ wouldWait }) => (wouldWait === undefined ? units : 0))
}

function first(outcomes: readonly Outcome[]): Outcome {
  return outcomes[0] as Outcome
}

/** The clocks of this process; tests pass their own. */
interface LocalClocks extends ProcessClock {
  /** A monotonic clock, in µs. */
  readonly elapsedUs: () => number
}

const CLOCKS: LocalClocks = { ...processClock(), elapsedUs: () => elapsedMs() * 1000 }

/** How many units of each limit's local share the store had counted, rounded up. */
function toUsed({ set, remaining, atMs }: LastAnswer, share: number): number[] {
  return set.limits.map((limit, i) => {
    // With top-ups, more can be left than the quota.
    const used = Math.max(capacityOf(limit, atMs) - (remaining[i] ?? 0), 0) * share
    return Math.min(Math.ceil(used), capacityOf(scaleSet(set, share).limits[i] as CompiledLimit, atMs))
  })
}

/**
 * The part as this process alone counts it. The holder knows at once of all slots that are given here.
 *
 * @param undecided requests of the key that were let in here and still have undecided steps
 * @param asked     grows with each request, so it is no smaller than the number of any slot given before
 */
function withOwnSlots(part: SubRequest, undecided: number, asked: number): SubRequest {
  const { slots } = part
  return slots ? { ...part, slots: { id: slots.id, held: slots.held + undecided, known: asked } } : part
}

/** After this time, in µs, the store may be back: a guess. */
const STORE_MAY_BE_BACK_US = 1_000_000

/**
 * Changes the answer to a cost that fits the plan but not the local share. It would say "never"; now it says when to
 * retry, since the store may be back by then.
 */
function waitable(outcome: Outcome, parts: readonly SubRequest[]): Outcome {
  if (!outcome.limits.some(({ wait }) => wait === NEVER)) return outcome
  const fits = parts.flatMap(({ set, cost }) => fitsEach(set, cost, outcome.at / 1000))
  const later = (limit: LimitOutcome, i: number): LimitOutcome =>
    limit.wait === NEVER && fits[i] ? { ...limit, wait: STORE_MAY_BE_BACK_US } : limit
  return { ...outcome, limits: outcome.limits.map(later) }
}

function fitsEach({ limits }: LimitSet, cost: number, nowMs: number): boolean[] {
  return limits.map((limit) => capacityOf(limit, nowMs) >= cost)
}

/** The store's last answer for a key. Changed in place: a new object per request would be expensive to collect. */
interface LastAnswer {
  readonly set: LimitSet
  /** Units left of each limit. */
  readonly remaining: number[]
  /** When the store said so, in ms of this process's clock. */
  atMs: number
}

/** Remembers the store's last answers for the most recently used keys. */
class StoreKnowledge {
  readonly #known: GenerationalCache<LastAnswer>

  constructor(maxKeys: number) {
    this.#known = new GenerationalCache(maxKeys)
  }

  note(parts: readonly SubRequest[], { limits }: Outcome, atMs: number): void {
    // By indices, without a list for each part: this runs for every request.
    let from = 0
    for (const { key, set } of parts) {
      const to = from + set.limits.length
      const known = this.#known.refresh(key)
      if (known?.set === set) {
        for (let i = from; i < to; i += 1) known.remaining[i - from] = (limits[i] as LimitOutcome).remaining
        known.atMs = atMs
      } else {
        const remaining = limits.slice(from, to).map((limit) => limit.remaining)
        this.#known.set(key, { set, remaining, atMs })
      }
      from = to
    }
  }

  get(key: string): LastAnswer | undefined {
    return this.#known.get(key)
  }

  delete(key: string): void {
    this.#known.delete(key)
  }
}
