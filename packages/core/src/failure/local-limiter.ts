import type { CompiledLimit, LimitSet } from '../plans/limit-set.js'
import { LruMap } from '../base/lru-map.js'
import { RecentMap } from '../base/generational-cache.js'
import { capacityOf, limitsApart, overdraftOf, shareOf } from '../plans/scaled-limits.js'
import { asksOf, refundsOf } from '../stores/sub-requests.js'
import { fineClock } from '../base/microsecond-clock.js'
import { memoryStore } from '../stores/memory/memory-store.js'
import type { Ask, LimitOutcome, Outcome, Store, StoreRequest } from '../stores/contract.js'

export interface LocalOptions {
  /**
   * How many processes share the store: each holds subjects to so many parts of their plans while the store cannot
   * answer. Default: as many as were seen in the store in the last half minute.
   */
  readonly instances?: number
  /** How many subjects are remembered at most, each with 0.5 to 6 kB. Default: 10 000. */
  readonly maxSubjects?: number
}

/** What the store last said of a key: changed in place, since what every request replaces is dear to collect. */
interface Known {
  readonly set: LimitSet
  /** Of each limit. */
  readonly remaining: number[]
  atMs: number
}

/** What the store said of several keys. */
interface Said {
  readonly limits: readonly LimitOutcome[]
  /** Where those of a key begin. */
  readonly from: number
  readonly atMs: number
}

const NONE: readonly Ask[] = []

interface LocalSubject {
  readonly set: LimitSet
  /** What the store said before was taken over, or did not know of what was admitted here. */
  readonly fromMs: number
  /** Whether units were admitted that the store has not been told of. */
  readonly owes: boolean
  /** Whether it is being told of units. */
  readonly isCharged?: boolean
}

/** Units of one limit that were admitted beside the store. */
export interface Charge {
  readonly key: string
  readonly set: LimitSet
  readonly cost: number
}

/**
 * Limits in this process while the store cannot: by the same plans, at a share of their quotas, from what the store
 * last said of a subject. Remembers what it has admitted, so that the store can be told.
 */
export class LocalLimiter {
  /** This process's part of every quota. */
  share = 1
  readonly #clock: () => number
  #nowMs = 0
  readonly #known: RecentMap<Known>
  readonly #subjects: LruMap<LocalSubject>
  /** What decides: shares, and in them what the store knew. */
  readonly #shares: Store
  /** What was admitted here, and nothing else, in the units of the plan. */
  readonly #admitted: Store
  readonly #decided = new WeakMap<StoreRequest, { readonly share: Outcome; readonly admitted: Outcome }>()

  /** @param clock now, in ms since 1970 */
  constructor(maxSubjects: number, clock = fineClock()) {
    this.#clock = clock
    const now = (): number => this.#nowMs
    this.#known = new RecentMap(maxSubjects)
    this.#subjects = new LruMap(maxSubjects)
    this.#shares = memoryStore({ maxSubjects, now })
    this.#admitted = memoryStore({ maxSubjects, now })
  }

  /** Remembers what the store said. Returns the time, in ms of a clock of its own. */
  note({ key, set, also }: StoreRequest, { limits }: Outcome): number {
    const atMs = this.#clock()
    let next = this.#noteOne(key, set, { limits, from: 0, atMs })
    for (const ask of also ?? NONE) next = this.#noteOne(ask.key, ask.set, { limits, from: next, atMs })
    return atMs
  }

  /** @returns where the limits of the next key begin */
  #noteOne(key: string, set: LimitSet, { limits, from, atMs }: Said): number {
    const to = from + set.limits.length
    const known = this.#known.refresh(key)
    if (known?.set === set) {
      for (let i = from; i < to; i += 1) known.remaining[i - from] = (limits[i] as LimitOutcome).remaining
      known.atMs = atMs
    } else {
      this.#known.set(key, { set, remaining: limits.slice(from, to).map(({ remaining }) => remaining), atMs })
    }
    return to
  }

  consume(request: StoreRequest): Outcome {
    const { share, asks } = this.#prepare(request)
    const outcome = first(this.#shares.consume([share]))
    if (outcome.limits.some(({ wait }) => wait !== 0)) return waitable(outcome, request)
    const [main, ...also] = asks.map((ask) => ({ ...ask, set: overdraftOf(ask.set) }))
    const admitted = first(this.#admitted.consume([{ ...(main as Ask), also: orNone(also) }]))
    this.#decided.set(request, { share: outcome, admitted })
    for (const { key, set } of asks) {
      const fromMs = this.#subjects.get(key)?.fromMs ?? this.#nowMs
      this.#subjects.use(key, { set, fromMs, owes: true })
    }
    return outcome
  }

  peek(request: StoreRequest): Outcome {
    const { share } = this.#prepare(request)
    return waitable(first(this.#shares.peek([share])), request)
  }

  /** Gives back what a request was admitted for, unless the store has been told of it. */
  refund(request: StoreRequest, units: number): boolean {
    const decided = this.#decided.get(request)
    if (!decided) return false
    this.#nowMs = this.#clock()
    const asks = asksOf(request)
    const shares = asks.map((ask) => ({ ...ask, set: shareOf(ask.set, this.share) }))
    const overdrafts = asks.map((ask) => ({ ...ask, set: overdraftOf(ask.set) }))
    const given = refundsOf(overdrafts, decided.admitted, units).map((one) => this.#admitted.refund(one))
    if (!given.includes(true)) return false
    for (const one of refundsOf(shares, decided.share, units)) void this.#shares.refund(one)
    return true
  }

  /** The charges of keys that are due, about so many at most; each is to be confirmed, or owed again. */
  takeCharges(isDue: (key: string) => boolean, most: number): Charge[] {
    const charges: Charge[] = []
    this.#nowMs = this.#clock()
    for (const [key, subject] of this.#subjects.entries()) {
      if (charges.length >= most) break
      if (!subject.owes || !isDue(key)) continue
      const own = this.#chargesOf(key, subject.set)
      charges.push(...own)
      // In place: `use` would have this loop meet it again.
      Object.assign(subject, { owes: false, isCharged: own.length > 0 })
      void this.#admitted.reset(key)
    }
    return charges
  }

  /** The store has been told. */
  confirm({ key }: Charge): void {
    const subject = this.#subjects.get(key)
    if (subject) Object.assign(subject, { isCharged: false, fromMs: this.#clock() })
  }

  /** Puts back what the store could not be told. */
  owe({ key, set, cost }: Charge): void {
    this.#nowMs = this.#clock()
    void this.#admitted.consume([{ key, set, cost }])
    const { fromMs = this.#nowMs, set: whole = set } = this.#subjects.get(key) ?? {}
    this.#subjects.use(key, { set: whole, fromMs, owes: true })
  }

  forget(key: string): void {
    this.#known.delete(key)
    this.#subjects.delete(key)
    void this.#shares.reset(key)
    void this.#admitted.reset(key)
  }

  #prepare(request: StoreRequest): { share: StoreRequest; asks: readonly Ask[] } {
    const nowMs = this.#clock()
    const asks = asksOf(request)
    for (const ask of asks) this.#takeOver(ask, nowMs)
    this.#nowMs = nowMs
    const [main, ...also] = asks.map((ask) => ({ ...ask, set: shareOf(ask.set, this.share) }))
    return { share: { ...(main as Ask), also: orNone(also) }, asks }
  }

  /** Goes on from what the store last said, unless it has been told of less since. */
  #takeOver({ key, set }: Ask, nowMs: number): void {
    const known = this.#known.get(key)
    const before = this.#subjects.get(key)
    if (before && (before.owes || before.isCharged || !known || known.atMs <= before.fromMs)) return
    void this.#shares.reset(key)
    this.#subjects.use(key, { set, fromMs: known?.atMs ?? nowMs, owes: false })
    if (!known) return
    this.#nowMs = known.atMs
    const shares = limitsApart(shareOf(known.set, this.share))
    for (const i of distinctMarks(known.set)) {
      const limit = known.set.limits[i] as CompiledLimit
      const share = shares[i] as LimitSet
      const used = capacityOf(limit.paramsAt(known.atMs)) - (known.remaining[i] ?? 0)
      const most = capacityOf((share.limits[0] as CompiledLimit).paramsAt(known.atMs))
      const cost = Math.min(Math.ceil(used * this.share), most)
      if (cost > 0) void this.#shares.consume([{ key, set: share, cost }])
    }
  }

  #chargesOf(key: string, set: LimitSet): Charge[] {
    const overdraft = overdraftOf(set)
    const apart = limitsApart(overdraft)
    const { limits } = first(this.#admitted.peek([{ key, set: overdraft, cost: 1 }]))
    return distinctMarks(set).flatMap((i) => {
      const capacity = capacityOf((overdraft.limits[i] as CompiledLimit).paramsAt(this.#nowMs))
      const cost = capacity - (limits[i]?.remaining ?? capacity)
      return cost > 0 ? [{ key, set: apart[i] as LimitSet, cost }] : []
    })
  }
}

function orNone(also: readonly Ask[]): readonly Ask[] | undefined {
  return also.length > 0 ? also : undefined
}

function first(outcomes: unknown): Outcome {
  return (outcomes as readonly Outcome[])[0] as Outcome
}

/** Limits of one algorithm and window share what is kept of them, so one of them is charged. */
function distinctMarks({ limits }: LimitSet): readonly number[] {
  const marks = limits.map(({ mark }) => mark)
  return marks.flatMap((mark, i) => (marks.indexOf(mark) === i ? [i] : []))
}

const NEVER = -1
/** When the store may be back, in µs. */
const LATER = 1_000_000

/** A cost that never fits a share may fit the plan, once the store is back. */
function waitable(outcome: Outcome, request: StoreRequest): Outcome {
  const asks = asksOf(request)
  const capacities = asks.flatMap(({ set, cost }) =>
    set.limits.map((limit) => capacityOf(limit.paramsAt(outcome.at / 1000)) >= cost),
  )
  const limits = outcome.limits.map((limit, i) =>
    limit.wait === NEVER && capacities[i] ? { ...limit, wait: LATER } : limit,
  )
  return { ...outcome, limits }
}
