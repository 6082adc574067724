import { type StoreError, toStoreError } from '../../base/errors.js'
import { randomText } from '../../base/platform.js'
import { clearTimeout, elapsedMs, setTimeout } from '../../base/timers.js'
import type { Warn } from '../../base/warnings.js'
import { readTarget } from '../../features/rules/rule-options.js'
import type { HideId } from '../../requests/key.js'
import type { Board, Note, NoteTerms } from '../../stores/board.js'
import type { Decision } from '../decision/decision.js'
import type { EventContext } from '../report/events.js'
import { topicOf } from './board-access.js'
import { DenialRecords, toNote } from './denial-log.js'
import { SeenLately } from './figures.js'
import { type GivenPlans, PLANS, toPlansNote } from './given-plans.js'
import { toReportText } from './report-text.js'
import { Sampler } from './sampler.js'

const TICK_MS = 1000
/** While nobody looks. */
const PUT_EVERY_MS = 10_000
/** A little less than two ticks, so that none is left out. Who looks puts, too, and then the next tick does not. */
const WATCHED_EVERY_MS = 1900
/** Without requests for so long, there is nothing left to tell. */
const IDLE_MS = 60_000
const RETRY_AFTER_REFUSAL_MS = 60_000
const PLANS_EVERY_MS = 60_000
/** So that a flood of denied subjects costs Redis little. Into its own memory, a process writes all. */
const MOST_RECORDS = 100

/** All processes together. With many of them, each tells of fewer subjects. */
const MOST_CHARACTERS = 4_000_000
const [LEAST_OF_ONE, MOST_OF_ONE] = [2000, 32_000]

/** What is on the board, and how long. */
export const REPORTS: NoteTerms = { keptMs: 30_000, most: 1000 }
export const DENIALS: NoteTerms = { keptMs: 7 * 86_400_000, most: 10_000 }

export interface TrafficOptions {
  readonly board: Board
  /** What all limiters of this name have in common. */
  readonly name: string
  readonly hide: HideId | undefined
  /** Whether the store's answers are values, not promises. */
  readonly synchronous: boolean
  /** The store's time, in ms. */
  readonly nowMs: () => number
  /** The plans as they were given: the same object as long as they stay. */
  readonly plans: () => GivenPlans
  readonly warn: Warn
}

/**
 * What this process sees of its requests: the busiest subjects, the ones that are denied most, and the ones near a limit; and its denials,
 * for the log. It puts both on the board every 10 s, and every two seconds while somebody looks.
 */
export class Traffic {
  readonly #options: TrafficOptions
  readonly #id = randomText(9)
  readonly #sampler = new Sampler()
  readonly #seen = new SeenLately()
  readonly #denials: DenialRecords
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #notedMs = 0
  /** When the store was last seen to decide a request. */
  #decidedMs = -Infinity
  #putMs = -Infinity
  #watchedUntilMs = 0
  #refusedUntilMs = 0
  #mostCharacters = MOST_OF_ONE
  #putting: Promise<StoreError | undefined> | undefined
  #putsAll = false
  /** Whether there was a request. */
  #hasReport = false
  #plans: GivenPlans | undefined
  #plansPutMs = 0

  constructor(options: TrafficOptions) {
    this.#options = options
    this.#denials = new DenialRecords(options.hide)
  }

  /** Counts a decision. Under load only some: of denials, all that took a call of the store. */
  note(decision: Decision, context: EventContext | undefined): void {
    const isCheap = decision.allowed || this.#options.synchronous || decision.source !== 'store'
    const weight = isCheap ? this.#sampler.weigh() : 1
    if (weight > 0) this.#count(decision, weight, context)
  }

  #count(decision: Decision, weight: number, context: EventContext | undefined): void {
    const { hide, nowMs } = this.#options
    const target = readTarget(decision.subject, hide)
    this.#seen.note(decision, weight, target)
    if (!decision.allowed)
      this.#denials.note({ decision, context }, target, { count: weight, nowMs: nowMs() })
    this.#notedMs = elapsedMs()
    if (decision.source === 'store') this.#decidedMs = this.#notedMs
    // Without a timer, requests see to it themselves.
    if (this.#options.synchronous) this.#putIfDue(this.#notedMs)
    if (!this.#timer && this.#isNeeded()) this.#run()
  }

  /** Somebody looks for so long. */
  watched(forMs: number): void {
    this.#watchedUntilMs = elapsedMs() + forMs
  }

  /**
   * Puts on the board what is new. Never rejects.
   *
   * @param all     all denials. Otherwise some wait for the next call, so that a flood costs Redis little
   * @returns why the store did not take it
   */
  async put(all = false): Promise<StoreError | undefined> {
    this.#putsAll ||= all
    // What has come since that began is not in it.
    await this.#putting
    this.#putting ??= this.#putNow().finally(() => (this.#putting = undefined))
    return this.#putting
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
  }

  /** A limiter on a memory store can be garbage collected without being closed. So it has a timer only under load. */
  #isNeeded(): boolean {
    const isIdle = elapsedMs() >= this.#notedMs + IDLE_MS
    return (!this.#options.synchronous && !isIdle) || !this.#sampler.isExact
  }

  #run(): void {
    if (!this.#isClosed) this.#timer = setTimeout(() => this.#tick(), TICK_MS).unref()
  }

  #tick(): void {
    this.#timer = undefined
    this.#sampler.tick()
    this.#putIfDue(elapsedMs())
    if (this.#isNeeded()) this.#run()
  }

  #putIfDue(nowMs: number): void {
    const everyMs = nowMs < this.#watchedUntilMs ? WATCHED_EVERY_MS : PUT_EVERY_MS
    if (nowMs < this.#putMs + everyMs || nowMs < this.#refusedUntilMs) return
    void this.put()
  }

  async #putNow(): Promise<StoreError | undefined> {
    this.#putMs = elapsedMs()
    const { board, name, nowMs, synchronous } = this.#options
    const isAll = synchronous || this.#putsAll
    this.#putsAll = false
    const due = this.#denials.due(nowMs(), isAll ? Infinity : MOST_RECORDS)
    try {
      if (due.length > 0) await board.put(topicOf('denials', name), due.map(toNote), DENIALS)
      await this.#putReport()
      await this.#putPlans()
      return undefined
    } catch (thrown) {
      for (const one of due) one.isPut = false
      const error = toStoreError(thrown)
      this.#failed(error)
      return error
    }
  }

  async #putReport(): Promise<void> {
    const { board, name } = this.#options
    const figures = this.#seen.figures()
    if (figures.requests > 0) this.#hasReport = true
    if (!this.#hasReport) return
    const report: Note = { id: this.#id, text: toReportText(figures, this.#mostCharacters) }
    const reports = await board.put(topicOf('traffic', name), [report], REPORTS)
    const share = Math.floor(MOST_CHARACTERS / Math.max(reports, 1))
    this.#mostCharacters = Math.min(Math.max(share, LEAST_OF_ONE), MOST_OF_ONE)
  }

  /** Again and again, since Redis can lose them. A limiter without requests does not say what the plans are. */
  async #putPlans(): Promise<void> {
    const { board, name, plans, hide } = this.#options
    const nowMs = elapsedMs()
    const given = plans()
    const isDue = given !== this.#plans || nowMs >= this.#plansPutMs + PLANS_EVERY_MS
    if (!this.#hasReport || !isDue) return
    const note = toPlansNote(given, hide !== undefined)
    if (note) await board.put(topicOf('plans', name), [note], PLANS)
    this.#plans = given
    this.#plansPutMs = nowMs
  }

  #failed(error: StoreError): void {
    if (!isRefusal(error)) return
    // A store that decides nothing either is reported with the decisions.
    if (this.#refusedUntilMs === 0 && elapsedMs() < this.#decidedMs + IDLE_MS) {
      const problem = 'The store refuses the calls that traffic figures and logs need; limits and rules work.'
      this.#options.warn('TOLLGATE_TRAFFIC', `${problem} traffic: false turns them off. ${error.message}`)
    }
    this.#refusedUntilMs = elapsedMs() + RETRY_AFTER_REFUSAL_MS
  }
}

/** Whether it is about this call alone, and asking again soon does not help. */
function isRefusal({ reason }: StoreError): boolean {
  return reason === 'not-permitted' || reason === 'foreign-value'
}
