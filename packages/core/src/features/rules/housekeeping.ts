import { StoreError, toStoreError } from '../../base/errors.js'
import { isPromise, type MaybePromise } from '../../base/promises.js'
import { clearTimeout, elapsedMs, pause, setImmediate, setTimeout, within } from '../../base/timers.js'
import { processWide } from '../../base/warnings.js'
import { createLimitSet } from '../../plans/limit/limit.js'
import type { Store, StoreRequest } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import {
  isRulesReply,
  type ChangeResult,
  type Instance,
  type RuleEntry,
  type RuleList,
  type RulesCall,
  type RulesReply,
} from '../../stores/rule-list.js'
import { ListCopy } from './list-copy.js'
import type { ListReader, ListState, Origin } from './list-reader.js'
import { newId, PendingChanges, Waiter } from './pending-changes.js'
import type { End } from './rule-options.js'
import { StoreTime } from './store-time.js'

const EVERY_MS = 1000
/** After a refusal. */
const RARELY_MS = 10_000
const RETRY_MS = 250
/** A process that dies is counted for INSTANCE_KEPT_MS. */
const COUNT_EVERY_MS = 5000
const STALE_MS = 5000
/** Rules that say nothing for longer than this live at least as long. */
export const LONGEST_GAP_MS = 120_000
/** How long an answer may take before the call is sent again: longer each time. */
const [LEAST_PATIENCE_MS, MOST_PATIENCE_MS] = [5000, 60_000]
const MOST_A_CALL = 200
const FORGET_EVERY_MS = 60_000

const all = processWide('housekeeping', () => new WeakMap<object, Housekeeping>())

/** The housekeeping of a store; undefined if the store keeps no rules. All limiters on the same client and prefix share it. */
export function housekeepingOf(store: Store): Housekeeping | undefined {
  const { rules } = store
  if (!rules) return undefined
  const space = store.space ?? store
  const known = all.get(space) ?? new Housekeeping(rules, store)
  all.set(space, known)
  return known
}

/**
 * Keeps this process's copy of a store's list of rules. One call a second reads what has changed, for all limiters of a client
 * and prefix. A change is sent at once, and again under its id until it is answered.
 */
export class Housekeeping {
  readonly #list: RuleList
  readonly #store: Store
  readonly #isAlone: boolean
  readonly #time: StoreTime
  readonly #readers = new Set<ListReader>()
  readonly #copy = new ListCopy()
  readonly #pending = new PendingChanges()
  /** What this process has written and not read yet: texts by key. */
  readonly #own = new Map<string, string>()
  /** Those who wait until the list was read anew. */
  #waiting: Waiter<void>[] = []
  #refusal: StoreError | undefined
  #isRunning = false
  #hasMore = false
  #timer: NodeJS.Timeout | undefined
  #patienceMs = LEAST_PATIENCE_MS
  #answeredMs = -Infinity
  #countAtMs = -Infinity
  /** Limiters that have closed and are still to be reported. */
  #closed: readonly Instance[] = []
  #forgottenMs = 0

  constructor(list: RuleList, store: Store) {
    this.#list = list
    this.#store = store
    this.#isAlone = store.synchronous
    this.#time = new StoreTime(list, store)
  }

  get state(): ListState {
    if (this.#isAlone) return 'current'
    if (this.#refusal) return 'off'
    if (!this.#copy.isRead) return 'unread'
    return elapsedMs() - this.#answeredMs > STALE_MS ? 'stale' : 'current'
  }

  /** Whether it tells its readers how many they are. */
  get counts(): boolean {
    return this.#refusal === undefined && !this.#isAlone
  }

  /** The store's time, in µs: what it said last, plus the time since. */
  nowUs(): number {
    return this.#time.now()
  }

  /** Entries of this reader, with the changes that are not confirmed yet. */
  entriesOf({ begin }: ListReader): [string, RuleEntry][] {
    const held = new Map(this.#copy.entries())
    for (const entry of this.#pending.entries()) held.set(entry.key, entry)
    return [...held].filter(([key]) => key.startsWith(begin))
  }

  join(reader: ListReader): void {
    this.#readers.add(reader)
    for (const [key, entry] of this.entriesOf(reader)) reader.onEntry(key, entry, 'first')
    this.#countAtMs = -Infinity
    if (!this.#isAlone) this.#runIn(0)
  }

  /** Resolves when the store knows that the limiter has closed, or has not answered soon. Never rejects. */
  async leave(reader: ListReader): Promise<void> {
    if (!this.#readers.delete(reader) || this.#isAlone) return
    if (reader.instance) this.#closed = [...this.#closed, { ...reader.instance, isOpen: false }]
    if (this.#readers.size === 0) this.#stop()
    await Promise.race([this.#run(), pause(RETRY_MS)])
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#pending.reject(
      new StoreError('the limiter was closed before the store had the rule', { code: 'ERR_TOLLGATE_CLOSED' }),
    )
    const closed = new StoreError('the limiter was closed before the rules were read', {
      code: 'ERR_TOLLGATE_CLOSED',
    })
    for (const waiter of this.#takeWaiting()) waiter.reject(closed)
  }

  /** Resolves once the list was read anew. Rejects if the store does not answer. */
  async refresh(): Promise<void> {
    if (this.#isAlone) return
    const waiter = new Waiter<void>('the rules were not read')
    this.#waiting.push(waiter)
    this.#runIn(0)
    return waiter.promise
  }

  #takeWaiting(): Waiter<void>[] {
    const waiting = this.#waiting
    this.#waiting = []
    return waiting
  }

  /**
   * Changes a rule. It holds in this process at once.
   *
   * @param text empty to lift it
   * @returns what the list made of it
   * @throws {StoreError} when the store does not answer. The change then holds here, and is sent until the store answers
   */
  change(key: string, text: string, end: End): Promise<ChangeResult> {
    if (this.#refusal) return Promise.reject(this.#refusal)
    const now = this.nowUs()
    const known = this.#copy.get(key)
    const until =
      text === '' ? (this.#held(key)?.until ?? now) : 'at' in end ? end.at : Math.round(now + end.inUs)
    const entry: RuleEntry = { key, changedAt: now, until, keptUntil: until, text }
    const written = this.#pending.add(entry, this.#endOf(text, end, { known, until }), known)
    if (text === '' || until > now) this.#tell(key, entry, 'pending')
    if (this.#isAlone) void this.#run()
    else this.#runIn(0)
    return written
  }

  /**
   * A change may wait for long until the store answers, so its end is a time, if the store's time is known. A rule is lifted as this
   * process knows it, in case the list has lost it.
   */
  #endOf(text: string, end: End, { known, until }: { known: RuleEntry | undefined; until: number }): End {
    if (text === '') return { at: known && known.text !== '' ? known.until : 0 }
    return this.#time.isKnown ? { at: until } : end
  }

  #held(key: string): RuleEntry | undefined {
    return this.#pending.get(key) ?? this.#copy.get(key)
  }

  #runIn(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#readers.size === 0) return
    // Changes of the same tick go in one call.
    if (ms === 0) setImmediate(() => void this.#run())
    else this.#timer = setTimeout(() => void this.#run(), ms).unref()
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    // Those who ask later wait for the next run: this one may have been answered already.
    const waiting = this.#takeWaiting()
    try {
      do {
        const call = this.#nextCall()
        const sentMs = elapsedMs()
        const given = this.#list.sync(call)
        this.#read(call, isPromise(given) ? await this.#answered(given) : given, sentMs)
      } while (this.#hasMore)
      this.#isRunning = false
      for (const waiter of waiting) waiter.resolve()
      if (!this.#isAlone) this.#runIn(this.#pending.size + this.#waiting.length > 0 ? 0 : EVERY_MS)
    } catch (thrown) {
      const error = toStoreError(thrown)
      const isRefusal = mayBeRefusal(error) && (await this.#stillDecides())
      this.#isRunning = false
      for (const waiter of waiting) waiter.reject(error)
      if (isRefusal) this.#refused(error)
      else this.#runIn(this.#pending.size > 0 ? RETRY_MS : EVERY_MS)
    }
  }

  /** An answer that never comes must not end all reading. One that comes too late is ignored: the next call repeats all. */
  #answered<T>(given: Promise<T>): Promise<T> {
    return within(given, this.#patienceMs, () => {
      this.#patienceMs = Math.min(this.#patienceMs * 2, MOST_PATIENCE_MS)
      return new StoreError('the store did not answer', { code: 'ERR_TOLLGATE_STORE_TIMEOUT' })
    })
  }

  /** Whether the store decides requests: then only rules do not work. */
  async #stillDecides(): Promise<boolean> {
    try {
      const given: MaybePromise<readonly unknown[]> = this.#store.peek([PROBE])
      const answers = isPromise(given) ? await this.#answered(given) : given
      return isOutcome(answers[0], PROBE)
    } catch {
      return false
    }
  }

  #refused(error: StoreError): void {
    const isNews = this.#refusal === undefined
    this.#refusal = error
    for (const key of this.#pending.reject(error)) this.#tell(key, this.#copy.get(key), 'undone')
    if (isNews) for (const reader of this.#readers) reader.onRefused(error)
    this.#runIn(RARELY_MS)
  }

  /** The limiters to report. The ones that have closed are reported until the store has answered. */
  #instancesDue(): Instance[] {
    const nowMs = elapsedMs()
    if (this.#isAlone || (nowMs < this.#countAtMs && this.#closed.length === 0)) return []
    this.#countAtMs = nowMs + COUNT_EVERY_MS
    const open = Array.from(this.#readers, ({ instance }) => instance)
    return [...this.#closed, ...open.filter((instance) => instance !== undefined)]
  }

  #tellInstances({ instances = [] }: RulesCall, reply: RulesReply): void {
    this.#closed = this.#closed.filter((one) => !instances.includes(one))
    for (const [i, { id }] of instances.entries()) {
      for (const reader of this.#readers) {
        if (reader.instance?.id === id) reader.onInstances(reply.instances?.[i] ?? 1)
      }
    }
  }

  #nextCall(): RulesCall {
    const changes = this.#pending.first(MOST_A_CALL)
    const restored = this.#copy.lost(MOST_A_CALL).map((entry) => ({ ...entry, id: newId() }))
    return { instances: this.#instancesDue(), known: this.#copy.known, changes, restored }
  }

  #read(call: RulesCall, reply: RulesReply, sentMs: number): void {
    if (!isRulesReply(reply, call)) {
      throw new StoreError('the store answered the list of rules in an unknown form', { reason: 'protocol' })
    }
    this.#tellInstances(call, reply)
    const nowMs = elapsedMs()
    this.#learnTime(reply, sentMs, nowMs)
    this.#refusal = undefined
    this.#patienceMs = LEAST_PATIENCE_MS
    const gapMs = nowMs - this.#answeredMs
    this.#answeredMs = nowMs
    const { isRead } = this.#copy
    if (isRead && gapMs > LONGEST_GAP_MS && !this.#isAlone) for (const reader of this.#readers) reader.onGap()
    const settled = this.#pending.settle(call, reply)
    for (const [{ entry }, result] of settled) if (result === 'written') this.#own.set(entry.key, entry.text)
    for (const entry of this.#copy.read(reply, call.restored.length, this.nowUs())) {
      const origin = this.#own.get(entry.key) === entry.text ? 'here' : isRead ? 'there' : 'first'
      this.#own.delete(entry.key)
      // A change that is still to be sent holds here already.
      if (!this.#pending.has(entry.key)) this.#tell(entry.key, entry, origin)
    }
    for (const [{ entry, waiter }, result] of settled) {
      // What was refused does not hold here any more.
      if (result !== 'written') this.#tell(entry.key, this.#held(entry.key), 'undone')
      waiter.resolve(result)
    }
    if (!isRead && this.#copy.isRead) for (const reader of this.#readers) reader.onFirst()
    this.#hasMore = reply.hasMore || this.#copy.hasLost || this.#pending.size > 0 || this.#closed.length > 0
    this.#forgetEnded(nowMs)
  }

  #learnTime({ at }: RulesReply, sentMs: number, nowMs: number): void {
    const isFirst = !this.#time.isKnown
    const movedUs = this.#time.learn(at, sentMs, nowMs)
    if (isFirst) for (const entry of this.#pending.shift(movedUs)) this.#tell(entry.key, entry, 'pending')
  }

  #tell(key: string, entry: RuleEntry | undefined, origin: Origin): void {
    for (const reader of this.#readers) if (key.startsWith(reader.begin)) reader.onEntry(key, entry, origin)
  }

  #forgetEnded(nowMs: number): void {
    if (nowMs - this.#forgottenMs < FORGET_EVERY_MS) return
    this.#forgottenMs = nowMs
    for (const key of this.#copy.forgetEnded(this.nowUs())) {
      if (!this.#pending.has(key)) this.#tell(key, undefined, 'there')
    }
  }
}

/** Whether asking again soon does not help, if the store decides requests nevertheless. */
function mayBeRefusal({ reason }: StoreError): boolean {
  return ['not-permitted', 'wrong-server', 'foreign-value', 'protocol'].includes(reason)
}

/** A look at a key that cannot be a subject's. */
const PROBE: StoreRequest = {
  shard: 0,
  grant: 'all',
  parts: [
    {
      key: '!probe',
      set: createLimitSet({ quota: 1_000_000, window: '1s', algorithm: 'fixed-window' }),
      cost: 1,
    },
  ],
}
