import { ConfigError } from '../../base/errors.js'
import { isWhole, needOptions } from '../../base/options.js'
import { pause } from '../../base/timers.js'
import { isAbout, readTarget, type Target, timeOf } from '../../features/rules/rule-options.js'
import type { RuleChanged, Rules } from '../../features/rules/rules.js'
import type { Subject } from '../../plans/subject.js'
import { needSubject } from '../../requests/subject/subject.js'
import type { Board, Note, NoteTerms } from '../../stores/board.js'
import type { Store } from '../../stores/contract.js'
import { answered, forEachNote, needBoard, topicOf } from './board-access.js'
import { type DenialRecord, isTime, readRecord } from './denial-log.js'
import { type Figures, firstOf, Merging, type Near, type SubjectShare } from './figures.js'
import type { GivenPlans } from './given-plans.js'
import { inspect, type Inspection, type Inspector, Questions } from './questions.js'
import { readReportText } from './report-text.js'
import { readRuleNote, type RuleRecord, toRuleNote } from './rule-log.js'
import { DENIALS, REPORTS, Traffic, type TrafficOptions } from './traffic.js'
import type { Seen } from './top-sketch.js'

/** Which subjects to list. */
export interface TrafficViewOptions {
  /** An id or a subject. A text with a `*` at its end is the beginning of many ids. Default: all. */
  readonly of?: Subject | string | undefined
  /** The most subjects in each list: a whole number from 1 to 200. Default: 20. */
  readonly most?: number | undefined
}

/** What a subject has done lately, as all processes together have seen it. */
export interface SubjectTraffic {
  /** Its id. With `hashIds`, or if the id cannot be shown, its key in the store. */
  readonly subject: string
  readonly plan: string
  /** Its requests, and by how much that can be wrong. 0: it is exact. */
  readonly requests: number
  readonly error: number
  /** How many of them were denied, and the quota units of the others. Both can be too low if `error` is not 0. */
  readonly denied: number
  readonly units: number
}

/** How often a subject was denied lately. */
export interface SubjectDenials extends Pick<SubjectTraffic, 'subject' | 'plan'> {
  /** Its denials, and by how much that can be wrong. 0: it is exact. */
  readonly denied: number
  readonly error: number
}

/** What the processes of a limiter have seen lately. */
export interface TrafficView {
  /** How long the figures cover, in ms: up to a minute. */
  readonly coversMs: number
  /** The processes that had requests and whose figures are here. */
  readonly processes: number
  /** Processes that had requests and whose figures are not here, since they run another version of Tollgate. */
  readonly unread: number
  readonly requests: number
  readonly denied: number
  /** The most requests first. */
  readonly busiest: readonly SubjectTraffic[]
  /** The most denials first. */
  readonly mostDenied: readonly SubjectDenials[]
  /** The highest share first. */
  readonly nearest: readonly SubjectShare[]
}

/** Which denials to read. */
export interface DenialLogOptions {
  /** An id or a subject. A text with a `*` at its end is the beginning of many ids. Default: all. */
  readonly of?: Subject | string | undefined
  /** From when until when: a `Date`, a text such as `'2027-01-31T18:00:00Z'`, or a number of ms since 1970. Default: the last day. */
  readonly from?: Date | string | number | undefined
  readonly until?: Date | string | number | undefined
}

/** The denials of some time. */
export interface DenialLog {
  /** From when on they are complete: later than asked for if the log does not reach back so far. */
  readonly from: Date
  /** The latest first. */
  readonly denials: readonly DenialRecord[]
}

/** Whose rules to read. */
export interface RuleLogOptions {
  /** As in DenialLogOptions. Default: all rules. */
  readonly of?: Subject | string | undefined
}

const RULES: NoteTerms = { keptMs: 400 * 86_400_000, most: 1000 }
const DAY_MS = 86_400_000
const [LISTED, MOST_LISTED] = [20, 200]
/** How long a limiter that closes waits for the store. */
const CLOSING_MS = 250
const MOST_A_PUT = 100

/** What the calls need of the limiter. */
export interface TrafficNeeds extends Inspector, Pick<TrafficOptions, 'name' | 'hide' | 'warn'> {
  readonly store: Store
  readonly rules: Pick<Rules, 'nowMs' | 'watch' | 'ask' | 'take'>
  /** The plans as they were given, for processes that do not have them. */
  readonly plans: () => GivenPlans
  /** Whether this process counts its requests by subject. */
  readonly counts: boolean
}

/** What operators call to see what goes on, and what has been. */
export class TrafficCalls {
  /** What this process sees; undefined if it does not count. */
  readonly own: Traffic | undefined
  readonly #options: TrafficNeeds
  readonly #questions: Questions | undefined
  /** Changes of rules that are still to be written down. */
  #unwritten: Note[] = []
  #logging: Promise<void> | undefined
  /** The log in memory cannot be older than the process. */
  readonly #beganMs: number

  constructor(options: TrafficNeeds) {
    this.#options = options
    const { store, hide, rules, counts } = options
    const { board, synchronous } = store
    const nowMs = (): number => rules.nowMs()
    this.#beganMs = store.synchronous ? nowMs() : 0
    if (board && counts) this.own = new Traffic({ ...options, board, synchronous, nowMs })
    if (board && !synchronous)
      this.#questions = new Questions({ ...options, board, hides: hide !== undefined })
  }

  /** @throws as `Questions.ask`; a StoreError when the store does not answer */
  async inspect(subject: Subject | string): Promise<Inspection> {
    if (!this.own && this.#questions) return this.#questions.ask(subject)
    return inspect(needSubject(subject), this.#options)
  }

  asked(question: string, text: string): void {
    if (this.own) void this.#questions?.answer(question, text)
  }

  /** @throws {ConfigError} for an option or the store; a StoreError when the store does not answer */
  async view(given: TrafficViewOptions = {}): Promise<TrafficView> {
    const { board, target } = this.#read(given, ['of', 'most'], '{ most: 20 }')
    const { most = LISTED } = given
    if (!isWhole(most, 1, MOST_LISTED))
      throw ConfigError.wrong('most', most, `a whole number from 1 to ${MOST_LISTED}`)
    const { name, rules } = this.#options
    rules.watch()
    await this.#putOwn(false)
    const notes = await answered(board.read(topicOf('traffic', name), { ...REPORTS, sinceMs: 0 }))
    const merging = new Merging()
    let [processes, coversMs] = [0, 0]
    await forEachNote(notes, ({ text }) => {
      const one = readReportText(text)
      if (!one) return
      merging.add(one)
      processes += 1
      coversMs = Math.max(coversMs, one.coversMs)
    })
    return {
      processes,
      unread: notes.length - processes,
      ...toView(only({ ...merging.figures(), coversMs }, target), most),
    }
  }

  /** @throws as `view` does */
  async denialLog(given: DenialLogOptions = {}): Promise<DenialLog> {
    const { board, target } = this.#read(given, ['of', 'from', 'until'], "{ of: 'acme' }")
    const { name, rules } = this.#options
    const nowMs = rules.nowMs()
    const untilMs = readTime('until', given.until ?? nowMs)
    const fromMs = readTime('from', given.from ?? untilMs - DAY_MS)
    if (fromMs > untilMs) throw ConfigError.wrong('from', given.from, 'a time before `until`')
    await this.#putOwn(true)
    const topic = topicOf('denials', name)
    const notes = await answered(board.read(topic, { ...DENIALS, sinceMs: fromMs }))
    const denials: DenialRecord[] = []
    let oldest = nowMs
    await forEachNote(notes, (note) => {
      const { key, record } = readRecord(note) ?? {}
      if (key === undefined || !record) return
      const [first, last] = [record.first.getTime(), record.last.getTime()]
      oldest = Math.min(oldest, last)
      if (first <= untilMs && last >= fromMs && (!target || isOf(key, record.subject, target)))
        denials.push(record)
    })
    // A full log has lost what was before.
    const kept = notes.length < DENIALS.most ? nowMs - DENIALS.keptMs : oldest
    return {
      from: new Date(Math.max(fromMs, kept, this.#beganMs)),
      denials: denials.toSorted((a, b) => b.last.getTime() - a.last.getTime()),
    }
  }

  /** @throws {ConfigError} */
  #read(
    given: Pick<TrafficViewOptions, 'of'>,
    names: readonly string[],
    example: string,
  ): { readonly board: Board; readonly target: Target | undefined } {
    const { store, hide } = this.#options
    const board = needBoard(store)
    needOptions(given, { names, example })
    const { of } = given
    return { board, target: of === undefined ? undefined : readTarget(of, hide) }
  }

  /** @throws {StoreError} when the store does not take what this process has seen */
  async #putOwn(all: boolean): Promise<void> {
    const error = await answered(this.own?.put(all))
    if (error) throw error
  }

  /** @throws as `view` does */
  async ruleLog(given: RuleLogOptions = {}): Promise<readonly RuleRecord[]> {
    const { board, target } = this.#read(given, ['of'], "{ of: 'acme' }")
    await answered(this.#logging)
    const topic = topicOf('rules', this.#options.name)
    const notes = await answered(board.read(topic, { ...RULES, sinceMs: 0 }))
    const written = notes.map(readRuleNote).filter((one) => one !== undefined)
    const isAsked = ({ what, record }: (typeof written)[number]): boolean =>
      !target || (record.kind !== 'scale' && isAbout(what, target))
    return written.filter(isAsked).map(({ record }) => record)
  }

  /** Writes down a change of a rule that this process has made. */
  ruleChanged(change: RuleChanged, what: string): void {
    const { store, rules } = this.#options
    if (!store.board || !change.isOwn || change.rule.kind === 'forgetPlan') return
    this.#unwritten.push(toRuleNote(change, what, rules.nowMs()))
    this.#logging ??= this.#writeRules(store.board).finally(() => (this.#logging = undefined))
  }

  /** All that come while one call is under way go with the next. Never rejects: the rules hold all the same. */
  async #writeRules(board: Board): Promise<void> {
    while (this.#unwritten.length > 0) {
      const notes = this.#unwritten.splice(0, MOST_A_PUT)
      try {
        await board.put(topicOf('rules', this.#options.name), notes, RULES)
      } catch {
        this.#unwritten = []
      }
    }
  }

  /** Resolves once all is written down, or the store does not answer soon. Never rejects. */
  async end(): Promise<void> {
    this.own?.close()
    const all = Promise.all([this.own?.put(true), this.#logging])
    await Promise.race([all, pause(CLOSING_MS)])
  }
}

function toView(figures: Figures, most: number): Omit<TrafficView, 'processes' | 'unread'> {
  const { busiest, mostDenied, nearest, ...totals } = firstOf(figures, most)
  return {
    ...totals,
    busiest: busiest.entries.map(toBusy),
    mostDenied: mostDenied.entries.map(({ subject, plan, count, error }) => ({
      subject,
      plan,
      denied: count,
      error,
    })),
    nearest: nearest.map(({ key: _, ...near }: Near) => near),
  }
}

/** The lists with what is asked for. */
function only(figures: Figures, target: Target | undefined): Figures {
  if (!target) return figures
  const isAsked = ({ key, subject }: Pick<Seen, 'key' | 'subject'>): boolean => isOf(key, subject, target)
  const { busiest, mostDenied, nearest } = figures
  return {
    ...figures,
    busiest: { ...busiest, entries: busiest.entries.filter(isAsked) },
    mostDenied: { ...mostDenied, entries: mostDenied.entries.filter(isAsked) },
    nearest: nearest.filter(isAsked),
  }
}

function toBusy({ subject, plan, count, error, denied, units }: Seen): SubjectTraffic {
  return { subject, plan, requests: count, error, denied, units }
}

function isOf(key: string, subject: string, target: Target): boolean {
  const { what } = target
  return what.endsWith('*') ? subject.startsWith(what.slice(0, -1)) : key === what
}

function readTime(path: string, given: unknown): number {
  const ms = timeOf(given)
  if (isTime(ms)) return ms
  throw ConfigError.wrong(path, given, "a time with its time zone, such as '2027-01-31T18:00:00Z' or a Date")
}
