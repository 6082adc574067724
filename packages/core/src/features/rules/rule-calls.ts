import { ConfigError, StoreError } from '../../base/errors.js'
import { expectedName } from '../../base/options.js'
import { quiet } from '../../base/promises.js'
import type { Subject } from '../../plans/subject.js'
import { subjectKey } from '../../requests/key.js'
import { asWritten } from '../../requests/subject/address.js'
import { needSubject } from '../../requests/subject/subject.js'
import { type Housekeeping, LONGEST_GAP_MS } from './housekeeping.js'
import { kindOf, type Rule, ruleKey, type RuleTerms, toText, whatOf } from './rule.js'
import type { HeldRule, RuleIndex } from './rule-index.js'
import * as options from './rule-options.js'
import type { RulesHost, RulesOptions } from './rules.js'

interface Held {
  readonly index: RuleIndex
  /** Undefined if the store keeps no rules. */
  readonly list: Housekeeping | undefined
  /** What the keys of this limiter's rules begin with. */
  readonly begin: string
}

/** What operators call: sets, lifts and lists the rules of one limiter. */
export class RuleCalls {
  readonly #options: RulesOptions
  readonly #held: Held
  /** Who lifts a rule, until the list has answered. */
  readonly #notes = new Map<string, options.Noted>()
  #host: RulesHost | undefined
  #isClosed = false

  constructor(given: RulesOptions, held: Held) {
    this.#options = given
    this.#held = held
  }

  start(host: RulesHost): void {
    this.#host = host
  }

  stop(): void {
    this.#isClosed = true
  }

  /** @throws {ConfigError} for an option; ERR_TOLLGATE_SUBJECT; a StoreError, see Housekeeping.change */
  async block(subject: unknown, given: unknown): Promise<Rule> {
    const { what, of, terms, end } = this.#readAll([subject, given], () => ({
      ...options.readTarget(subject, this.#options.hide),
      ...options.readBlock(given),
    }))
    return this.#set({ kind: 'block', of, ...terms }, what, end)
  }

  async unblock(subject: unknown, given: unknown): Promise<boolean> {
    const read = (): options.Target & { readonly note: options.Noted } => ({
      ...options.readTarget(subject, this.#options.hide),
      note: options.readNote(given),
    })
    const { what, of, note } = this.#readAll([subject, given], read, this.#options.store.blocks !== true)
    const key = ruleKey('block', what)
    if (what.endsWith('*') || this.#options.store.blocks !== true) return this.#lift(key, note)
    const isLifted = this.#hasNoBlock(key) ? false : this.#lift(key, note)
    const isEnded = this.#endOwn(needSubject(subject), of, note)
    quiet([isEnded])
    // If the store is silent, the error says what became of the rule.
    const byRule = await isLifted
    return (await isEnded) || byRule
  }

  /** Where rules are off, or the store keeps none, a block can only have come by itself. */
  #hasNoBlock(key: string): boolean {
    const { state = 'off' } = this.#held.list ?? {}
    return state === 'off' && this.#held.index.get(key) === undefined
  }

  /** Ends the blocks of a subject that came by themselves. */
  async #endOwn(subject: Subject, of: string, note: options.Noted): Promise<boolean> {
    const host = this.#host as RulesHost
    // Before it is over. It is only shown, so the block also ends if the subject's plan is not known at the moment.
    const block = await host.blockOf(subject).catch(() => undefined)
    if (!(await host.unblock(subject))) return false
    const rule = this.#toOwnBlock(subject, of, block ?? { until: new Date() })
    const { what } = options.readTarget(subject, this.#options.hide)
    host.emit({ action: 'lifted', rule, ...note, isOwn: true }, what)
    return true
  }

  async override(subject: unknown, given: unknown): Promise<Rule> {
    const { what, of, terms, end } = this.#readAll([subject, given], () => ({
      ...options.readTarget(subject, this.#options.hide),
      ...options.readOverride(given, {
        needPlan: this.#needPlan,
        needLimits: (limits) => void this.#options.plans.compileOwn(limits),
      }),
    }))
    return this.#set({ kind: 'override', of, ...terms }, what, end)
  }

  async scale(plan: unknown, factor: unknown, given: unknown): Promise<Rule> {
    const { terms, end } = this.#readAll([plan, factor, given], () =>
      options.readScale(plan, factor, { options: given, needPlan: this.#needPlan }),
    )
    return this.#set({ kind: 'scale', of: plan as string, ...terms }, subjectKey({ id: plan as string }), end)
  }

  /** Has all processes ask `planOf` again. */
  async forgetPlan(subject: unknown): Promise<void> {
    const { what, of } = this.#readAll([subject], () => {
      // No beginning of ids: a text with a `*` at its end is an id here. And an address has a plan only as it was written.
      const asked = needSubject(subject)
      const written = asWritten(asked)
      return options.readTarget(written ? { ...written, kind: 'id' } : asked, this.#options.hide)
    })
    await this.#set({ kind: 'forgetPlan', of }, what, { inUs: LONGEST_GAP_MS * 1000 })
  }

  /**
   * The rules that hold, the earliest first.
   *
   * @throws {StoreError} when the store does not answer
   */
  async *rules(given: unknown): AsyncIterable<Rule> {
    const target = this.#readAll([given], () => options.readOf(given, this.#options.hide))
    const { index } = this.#held
    const list = this.#needList()
    await list.refresh()
    const isAsked = ([key, { until }]: [string, HeldRule]): boolean => {
      const kind = kindOf(key)
      if (kind === 'forgetPlan' || until <= list.nowUs()) return false
      // A plan can have the name of a subject.
      return target === undefined || (kind !== 'scale' && options.isAbout(whatOf(key), target))
    }
    const held = [...index.all()].filter(isAsked)
    for (const [key, rule] of held.toSorted(([, a], [, b]) => a.changedAt - b.changedAt)) {
      yield this.toRule(key, rule)
    }
    if (target === undefined || target.what.endsWith('*') || this.#options.store.blocks !== true) return
    const subject = needSubject((given as { readonly of: unknown }).of)
    const block = await this.#host?.blockOf(subject)
    if (block) yield this.#toOwnBlock(subject, target.of, block)
  }

  toRule(key: string, { terms, until, changedAt }: HeldRule): Rule {
    const rule = { ...terms, until: new Date(until / 1000), setAt: new Date(changedAt / 1000) }
    return withLift(rule, (note) => this.#lift(key, note))
  }

  #toOwnBlock(subject: Subject, of: string, block: Pick<Rule, 'until' | 'level'>): Rule {
    return withLift({ kind: 'block', of, ...block }, (note) => this.#endOwn(subject, of, note))
  }

  /** Who lifted a rule here, and why. The next call returns nothing. */
  takeNote(key: string): options.Noted {
    const note = this.#notes.get(key) ?? {}
    this.#notes.delete(key)
    return note
  }

  async #set(terms: RuleTerms, what: string, end: options.End): Promise<Rule> {
    const { index, begin } = this.#held
    const list = this.#needList()
    const key = ruleKey(terms.kind, what)
    this.#notes.delete(key)
    if ('at' in end) options.needNotTooLong(end.at, list.nowUs())
    options.needWritten(await list.change(begin + key, toText(terms), end), end, list.nowUs())
    const until = 'at' in end ? end.at : list.nowUs() + end.inUs
    return this.toRule(key, index.get(key) ?? { terms, until, changedAt: list.nowUs() })
  }

  async #lift(key: string, note: options.Noted): Promise<boolean> {
    const list = this.#needList()
    // Which rule it was is only known here while it still holds.
    if (list.state === 'unread') await list.refresh().catch(() => {})
    // Of two that lift it at the same time, the first one does.
    if (!this.#notes.has(key)) this.#notes.set(key, note)
    return (await list.change(this.#held.begin + key, '', { inUs: 0 })) === 'written'
  }

  readonly #needPlan = (path: string, name: unknown): void => {
    const { names } = this.#options.plans
    if (typeof name === 'string' && names.includes(name)) return
    throw ConfigError.wrong(path, name, expectedName(name, names, 'the name of a plan'))
  }

  /** Reads what was given. If it is refused, nobody awaits the promises in it any more. */
  #readAll<T>(given: readonly unknown[], read: () => T, needsList = true): T {
    try {
      if (needsList || this.#isClosed) this.#needList()
      return read()
    } catch (error) {
      quiet(given)
      throw error
    }
  }

  #needList(): Housekeeping {
    if (this.#isClosed) throw new StoreError('the limiter is closed', { code: 'ERR_TOLLGATE_CLOSED' })
    if (this.#held.list) return this.#held.list
    throw new ConfigError(
      'store',
      'this store keeps no rules: use redisStore, or for a single process memoryStore',
    )
  }
}

/** Not enumerable, so that a rule can be logged and compared. */
function withLift(rule: Omit<Rule, 'lift'>, lift: (note: options.Noted) => Promise<boolean>): Rule {
  const value = async (given?: unknown): Promise<boolean> => lift(options.readNote(given))
  return Object.defineProperty(rule, 'lift', { value }) as Rule
}
