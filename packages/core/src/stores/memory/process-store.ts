import { CLOCK_WENT_BACK_US } from '../../algorithms/implementation.js'
import { microsecondClock } from '../../base/microsecond-clock.js'
import {
  KEPT_UNDER_TEST_CLOCK_MS,
  type Outcome,
  type RefundPart,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from '../contract.js'
import { createEntry, writeEntry, type Entry } from './entry.js'
import { EvictionReport, type EvictionListener } from './eviction-report.js'
import { LoadedSubject, type LimitOutcomeDraft } from './loaded-subject.js'
import { RememberedIds } from './remembered-ids.js'
import { SubjectList } from './subject-list.js'

/** The memory store without option checks and warnings. Also used for what a process counts for itself. */
export class ProcessStore implements Store {
  readonly synchronous = true
  readonly atomic = true
  readonly clock = 'process'
  readonly #now: () => number
  /** How much longer subjects are kept under a test's clock, in µs. */
  readonly #keptUs: number
  readonly #subjects: SubjectList
  readonly #evictions = new EvictionReport()
  /** By id: the units granted to requests, and whether refunds gave anything back. */
  readonly #grants = new RememberedIds<readonly number[]>()
  readonly #refunds = new RememberedIds<boolean>()
  /** The subjects of the current request; reused by the next one. */
  readonly #loaded: LoadedSubject[] = []

  /** @param now returns ms since 1970; default: the system's clock */
  constructor(maxSubjects: number, now?: () => number) {
    this.#now = now ?? microsecondClock()
    this.#keptUs = now ? KEPT_UNDER_TEST_CLOCK_MS * 1000 : 0
    this.#subjects = new SubjectList(maxSubjects, (entry, at) => {
      if (entry.expires - this.#keptUs > at) this.#evictions.add()
    })
  }

  /** How many subjects are held, for tests. */
  get size(): number {
    return this.#subjects.size
  }

  consume(batch: readonly StoreRequest[]): Outcome[] {
    return batch.map((request) =>
      request.grant === 'force' ? this.#force(request) : this.#decide(request, true),
    )
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

  reset(keys: readonly string[], _shard = 0): void {
    for (const key of keys) this.#subjects.delete(key)
  }

  observe(listener: EvictionListener): () => void {
    return this.#evictions.observe(listener)
  }

  #clock(): number {
    return Math.round(this.#now() * 1000)
  }

  #decide({ parts, grant }: StoreRequest, mayTake: boolean): Outcome {
    const now = this.#clock()
    const limits: LimitOutcomeDraft[] = []
    let fits = true
    let most = Number.MAX_SAFE_INTEGER
    for (let i = 0; i < parts.length; i += 1) {
      const { key, set, cost } = parts[i] as StoreRequest['parts'][number]
      const subject = this.#load(i, key, set, now)
      if (!subject.wait(cost, limits)) fits = false
      if (grant === 'upTo') most = Math.min(most, cost, subject.fitting())
    }
    let first = 0
    for (let i = 0; i < parts.length; i += 1) {
      const subject = this.#loaded[i] as LoadedSubject
      const cost = grant === 'upTo' ? most : fits ? (parts[i]?.cost ?? 0) : 0
      if (mayTake) this.#settle(subject, cost, now)
      first = subject.tell(limits, first)
    }
    if (grant === 'upTo') for (const limit of limits) limit.granted = most
    return { at: now, limits }
  }

  #force({ parts, id }: StoreRequest): Outcome {
    const now = this.#clock()
    const before = id === undefined ? undefined : this.#grants.get(id, now)
    const limits: LimitOutcomeDraft[] = []
    const granted: number[] = []
    for (const { key, set, used = [] } of parts) {
      const subject = this.#load(0, key, set, now)
      const first = limits.length
      if (!before) {
        granted.push(...subject.force(used))
        this.#write(subject, now)
      }
      for (let i = 0; i < set.limits.length; i += 1) {
        limits.push({ wait: 0, remaining: 0, reset: 0, granted: (before ?? granted)[first + i] ?? 0 })
      }
      subject.tell(limits, first)
    }
    if (id !== undefined && !before) this.#grants.set(id, granted, now)
    return { at: now, limits }
  }

  #give({ key, set, receipts }: RefundPart, now: number): boolean {
    const subject = this.#load(0, key, set, now)
    const { entry } = subject
    if (!entry || !subject.isKnown || subject.isOther()) return false
    const given = subject.give(receipts)
    writeEntry(entry, subject, { now, keptUs: this.#keptUs })
    return given
  }

  /** Loads the subject of a key into one of the reused objects. */
  #load(place: number, key: string, set: Entry['set'], now: number): LoadedSubject {
    const entry = this.#subjects.get(key)
    const subject = (this.#loaded[place] ??= new LoadedSubject())
    subject.load(key, set, entry && entry.expires > now ? entry : undefined, now)
    return subject
  }

  #settle(subject: LoadedSubject, cost: number, now: number): void {
    const { entry, isKnown, last } = subject
    if (cost > 0 || (isKnown && last > now + CLOCK_WENT_BACK_US)) {
      subject.take(cost)
      this.#write(subject, now)
    } else if (entry) this.#subjects.use(entry, now)
  }

  #write(subject: LoadedSubject, now: number): void {
    const entry = (subject.entry ??= createEntry(subject.key, subject.set))
    writeEntry(entry, subject, { now, keptUs: this.#keptUs })
    this.#subjects.use(entry, now)
  }
}
