import { processClock } from '../../base/clocks.js'
import {
  ID_KEPT_MS,
  KEPT_UNDER_TEST_CLOCK_MS,
  type AccountRequest,
  type ChargeRequest,
  type LeaseRequest,
  type LimitOutcome,
  type Outcome,
  type RefundPart,
  type RefundRequest,
  type SlotsRequest,
  type Store,
  type StoreRequest,
  type SubRequest,
  type UnblockRequest,
} from '../contract.js'
import { limitsByPart } from '../outcome-check.js'
import { FULL_WAIT_US, isHeld, NOTHING_HELD, planHold, type HoldRequest } from './beside/hold-decision.js'
import { BookedLimits } from './booked-limits.js'
import { EvictionReport, type EvictionListener } from './eviction-report.js'
import { LoadedSubject } from './loaded-subject.js'
import { partsOf } from './other-limits.js'
import { PreparedSets, type PreparedSet } from './prepared-sets.js'
import { QuickWay } from './quick-way.js'
import { MemoryBoard } from './memory-board.js'
import { MemoryRules } from './memory-rules.js'
import { NONE, Records } from './records.js'

/** The memory store without option checks and warnings. Also used for what a process counts for itself. */
export class ProcessStore implements Store {
  readonly synchronous = true
  readonly atomic = true
  readonly leases = true
  readonly slots = true
  readonly holds = true
  readonly blocks = true
  readonly observers = true
  readonly overage = true
  readonly accounts = true
  readonly billingDays = true
  readonly clock = 'process'
  readonly testClock?: () => number
  readonly rules: MemoryRules
  readonly board: MemoryBoard
  readonly #now: () => number
  readonly #newSets: () => PreparedSets
  /** How much longer subjects are kept under a test's clock, in µs. */
  readonly #keptUs: number
  readonly #records: Records
  readonly #quickWay: QuickWay
  readonly #evictions = new EvictionReport()
  /** By id: the units granted to requests, and whether refunds gave anything back. */
  readonly #grants = new RememberedIds<readonly number[]>()
  readonly #refunds = new RememberedIds<boolean>()
  /** The subjects of the current request; reused by the next one. */
  readonly #loaded: LoadedSubject[] = []

  /** @param now returns ms since 1970, and `behindMs` how far the calendar is behind it; default: of this process */
  constructor(maxSubjects: number, now?: () => number, behindMs: () => number = () => 0) {
    const clock = now ? { nowMs: now, behindMs } : processClock()
    this.#now = clock.nowMs
    this.#newSets = () => new PreparedSets(clock.behindMs)
    if (now) this.testClock = now
    this.#keptUs = now ? KEPT_UNDER_TEST_CLOCK_MS * 1000 : 0
    this.#records = new Records(maxSubjects, (expires, at) => {
      if (expires - this.#keptUs > at) this.#evictions.add()
    })
    this.rules = new MemoryRules(this.#clock)
    this.board = new MemoryBoard(this.#clock)
    this.#quickWay = new QuickWay(this.#records, this.#keptUs)
  }

  /** How many subjects are held, for tests. */
  get size(): number {
    return this.#records.size
  }

  /** All that is kept of a subject, for tests. */
  kept(key: string): object | undefined {
    const records = this.#records
    const id = records.find(key)
    if (id === NONE) return undefined
    const prepared = records.sets[id] as PreparedSet
    const [leases, denials, expires] = [records.leases.get(id), records.denials.get(id), records.expires(id)]
    const account = records.accounts.get(id)
    return { ...partsOf(records, id, prepared, this.#keptUs), leases, denials, account, expires }
  }

  consume(batch: readonly StoreRequest[]): Outcome[] {
    // The common case, without a closure.
    if (batch.length === 1) return [this.#take(batch[0] as StoreRequest)]
    return batch.map((request) => this.#take(request))
  }

  peek(batch: readonly StoreRequest[]): Outcome[] {
    return batch.map((request) => this.#decide(request, false))
  }

  refund(batch: readonly RefundRequest[]): boolean[] {
    return batch.map(({ parts, id }) => {
      const now = this.#clock()
      const before = id === undefined ? undefined : this.#refunds.get(id, now)
      if (before !== undefined) return before
      const given = parts.map((part) => this.#give(part, now)).includes(true)
      if (id !== undefined) this.#refunds.set(id, given, now)
      return given
    })
  }

  reset(keys: readonly string[], _shard = 0): boolean {
    const now = this.#clock()
    const ends = keys.map((key) => this.#records.delete(key) ?? 0)
    return ends.some((expires) => expires - this.#keptUs > now)
  }

  observe(listener: EvictionListener): () => void {
    return this.#evictions.observe(listener)
  }

  #clock = (): number => Math.round(this.#now() * 1000)

  #take(request: StoreRequest): Outcome {
    switch (request.grant) {
      case 'force':
        return this.#force(request)
      case 'lease':
        return this.#lease(request)
      case 'declare':
      case 'release':
        return this.#declare(request)
      case 'unblock':
        return this.#unblock(request)
      case 'account':
        return this.#book(request)
      default:
        return this.#decide(request, true)
    }
  }

  #declare({ parts, grant }: SlotsRequest): Outcome {
    const now = this.#clock()
    const [part] = parts as readonly [SubRequest]
    const { set, slots } = part
    const subject = this.#load(0, part, now)
    const isReleased = grant === 'release' && subject.release(slots, now)
    const hasChanged = !isReleased && subject.declare(slots)
    // Rows of holders that hold nothing are not renewed.
    if (slots && !isReleased && (hasChanged || slots.held > 0)) {
      subject.take(0)
      subject.write(now)
    }
    subject.begin()
    const none = { wait: 0, remaining: 0, reset: 0 }
    return { at: now, limits: subject.outcome().map((limit, i) => (i === set.inFlightIndex ? limit : none)) }
  }

  #unblock({ parts }: UnblockRequest): Outcome {
    const now = this.#clock()
    const subject = this.#load(0, parts[0] as SubRequest, now)
    const wasBlocked = subject.unblock(now)
    if (subject.hasNewDenials) {
      subject.take(0)
      subject.write(now)
    }
    subject.begin()
    return { at: now, limits: subject.outcome(), wasBlocked }
  }

  #book({ parts, entry }: AccountRequest): Outcome {
    const now = this.#clock()
    const subject = this.#load(0, parts[0] as SubRequest, now)
    const answer = subject.enterEntry(entry, now)
    if (answer.booked === 'booked') subject.write(now)
    subject.begin()
    return { at: now, limits: subject.outcome(), ...answer }
  }

  #lease({ parts, order }: LeaseRequest): Outcome {
    const now = this.#clock()
    const [part] = parts as readonly [SubRequest]
    const subject = this.#load(0, part, now)
    const { hasChanged, isKnown } = subject.settle(order, now)
    const given = order.wish && subject.lease(order.wish, part.set.ttlMs * 1000, now)
    if (hasChanged || given?.isNew || subject.isAhead(now)) {
      subject.take(0)
      subject.write(now)
    } else subject.use(now)
    const units = given?.units ?? 0
    subject.begin(part.set.limits.map(() => units))
    return { at: now, limits: subject.outcome(), lease: { endsInUs: given?.endsInUs ?? 0, isKnown } }
  }

  #decide({ parts, grant, hold }: StoreRequest, mayTake: boolean): Outcome {
    const now = this.#clock()
    if (grant === 'all' && parts.length === 1 && !hold && !tellsOfDenials(parts[0] as SubRequest)) {
      const limits = this.#quickWay.decide(parts[0] as SubRequest, mayTake, now)
      if (limits) return { at: now, limits }
    }
    let fits = true
    let most = Number.MAX_SAFE_INTEGER
    // Indices, here and below: requests in flight are counted on this road.
    for (let i = 0; i < parts.length; i += 1) {
      const part = parts[i] as SubRequest
      const subject = this.#load(i, part, now)
      if (part.set.inFlightIndex !== undefined) subject.declare(part.slots)
      if (grant === 'all') subject.beginBlock(part.set, mayTake ? part.tally : undefined, now)
      if (!subject.wait(part.cost)) fits = false
      if (grant === 'upTo') most = Math.min(most, part.cost, subject.unitsThatFitAll())
    }
    const subjects = this.#loaded
    if (hold && mayTake) return this.#hold({ hold, parts, subjects: subjects.slice(0, parts.length) }, now)
    const limits: LimitOutcome[] = []
    for (let i = 0; i < parts.length; i += 1) {
      const subject = subjects[i] as LoadedSubject
      const { cost: asked } = parts[i] as SubRequest
      const cost = grant === 'upTo' ? most : fits ? asked : 0
      if (grant === 'all' && mayTake && !fits) subject.countDenial(parts[i] as SubRequest, now)
      if (grant === 'upTo') subject.observeAgain(most)
      const isWritten = mayTake && this.#settle(subject, cost, now)
      // A level above the brim drains slower from where it was written, and the client must not come too early.
      if (isWritten && cost === 0) subject.wait(asked)
    }
    if (!fits && grant === 'all') BookedLimits.lengthen(subjects, parts)
    for (let i = 0; i < parts.length; i += 1) {
      limits.push(...(subjects[i] as LoadedSubject).outcome(grant === 'upTo' ? most : undefined))
    }
    return hold && fits ? { at: now, limits, hold: NOTHING_HELD } : { at: now, limits }
  }

  /** Decides a request with a hold, whose subjects are loaded. */
  #hold(request: HoldRequest, now: number): Outcome {
    const { hold, parts, subjects } = request
    const fits = subjects.every((subject) => subject.fits)
    const plan = planHold(request, now)
    for (const [i, subject] of subjects.entries()) {
      const part = parts[i] as SubRequest
      const cost = plan && !plan.isKnown ? part.cost : 0
      if (!plan) subject.countDenial(part, now)
      if (plan && isHeld(hold, plan, part)) subject.hold(part, hold, plan.delayUs, now)
      else if (this.#settle(subject, cost, now) && !plan) subject.wait(part.cost)
      if (plan) subject.admit()
    }
    if (!plan) BookedLimits.lengthen(subjects, parts)
    const limits = subjects.flatMap((subject) => {
      const outcomes = subject.outcome()
      const [first] = outcomes
      if (first && !plan && fits && subject.openReservations(now) >= hold.most) first.wait = FULL_WAIT_US
      return outcomes
    })
    if (!plan) return { at: now, limits }
    const { delayUs, endsInUs } = plan
    return { at: now, limits, hold: { delayUs, endsInUs } }
  }

  #force({ parts, id }: ChargeRequest): Outcome {
    const now = this.#clock()
    const before = id === undefined ? undefined : this.#grants.get(id, now)
    const limits = limitsByPart(parts, before ?? []).flatMap(([part, granted]) => {
      const subject = this.#load(0, part, now)
      subject.begin(before ? granted : subject.force(part.used))
      if (!before) subject.write(now)
      return subject.outcome()
    })
    if (id !== undefined && !before)
      this.#grants.set(
        id,
        limits.map(({ granted = 0 }) => granted),
        now,
      )
    return { at: now, limits }
  }

  #give(part: RefundPart, now: number): boolean {
    const subject = this.#load(0, part, now)
    if (!subject.isKnown || subject.isOther()) return false
    const given = subject.give(part.receipts)
    subject.write(now)
    return given
  }

  /** Loads the subject of a key into one of the reused objects. */
  #load(index: number, { key, set }: Pick<SubRequest, 'key' | 'set'>, now: number): LoadedSubject {
    const subject = (this.#loaded[index] ??= new LoadedSubject(this.#records, this.#keptUs, this.#newSets()))
    subject.load(key, set, now)
    return subject
  }

  /** Returns whether the subject was written. */
  #settle(subject: LoadedSubject, cost: number, now: number): boolean {
    if (cost > 0 || subject.isAhead(now) || subject.hasDeclared) {
      subject.take(cost)
      subject.write(now)
      return true
    }
    if (subject.hasNewDenials) subject.writeDenials(now)
    else subject.use(now)
    return false
  }
}

function tellsOfDenials({ tally, countsDenial }: SubRequest): boolean {
  return tally !== undefined || countsDenial !== undefined
}

/** This many ids are remembered for certain, and at most twice as many are held. */
const MOST_IDS = 100_000

/**
 * The answers to requests with an id, for ID_KEPT_MS. Held in two generations. The older one is dropped as a whole, so
 * that no search for expired ids is needed.
 */
export class RememberedIds<Answered> {
  #recent = new Map<string, Answered>()
  #before = new Map<string, Answered>()
  #recentSince = 0

  get size(): number {
    return this.#recent.size + this.#before.size
  }

  /** @param now in µs */
  get(id: string, now: number): Answered | undefined {
    this.#age(now)
    return this.#recent.get(id) ?? this.#before.get(id)
  }

  set(id: string, answered: Answered, now: number): void {
    this.#age(now)
    if (this.#recent.size >= MOST_IDS) this.#turn(now)
    this.#recent.set(id, answered)
  }

  #age(now: number): void {
    if (now - this.#recentSince < ID_KEPT_MS * 1000) return
    // The older generation has expired. After twice the time, the recent one has, too.
    if (now - this.#recentSince >= 2 * ID_KEPT_MS * 1000) this.#recent = new Map()
    this.#turn(now)
  }

  #turn(now: number): void {
    this.#before = this.#recent
    this.#recent = new Map()
    this.#recentSince = now
  }
}
