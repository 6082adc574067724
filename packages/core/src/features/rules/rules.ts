import type { StoreError } from '../../base/errors.js'
import { givenOf } from '../../base/options.js'
import { randomText } from '../../base/platform.js'
import { quiet } from '../../base/promises.js'
import type { Warn } from '../../base/warnings.js'
import type { Plan } from '../../plans/plan.js'
import type { Subject } from '../../plans/subject.js'
import { type HideId, subjectKey } from '../../requests/key.js'
import type { PlanResolver } from '../../requests/plan/plan-resolver.js'
import type { RuleLookup, RulesInForce } from '../../requests/rule-lookup.js'
import type { Store } from '../../stores/contract.js'
import type { Instance, RuleEntry } from '../../stores/rule-list.js'
import { type Housekeeping, housekeepingOf } from './housekeeping.js'
import type { ListReader, ListState, Origin } from './list-reader.js'
import { kindOf, type Rule, type RuleTerms, whatOf } from './rule.js'
import { RuleCalls } from './rule-calls.js'
import { needWritten } from './rule-options.js'
import { type HeldRule, RuleIndex } from './rule-index.js'
import { RuledPlans } from './ruled-plans.js'

/** A rule was set, replaced or lifted, in this process or another. */
export interface RuleChanged {
  readonly action: 'set' | 'lifted'
  /** The rule as it is now; with `lifted`, as it was. */
  readonly rule: Rule
  /** The rule that it replaced. */
  readonly before?: Rule
  /** Who set it or lifted it, and why, if that was given. Of a lifted rule only the process knows this that lifted it. */
  readonly by?: string
  readonly reason?: string
  /** Whether this process set or lifted it. */
  readonly isOwn: boolean
}

export interface RulesOptions {
  readonly store: Store
  readonly name?: string | undefined
  readonly hide: HideId | undefined
  readonly plans: PlanResolver
  readonly warn: Warn
  /** With a number of instances, the limiters of this name need not be counted. */
  readonly local?: { readonly instances?: number | undefined } | undefined
}

/** A block that came by itself. */
export type OwnBlock = Pick<Rule, 'until' | 'level'>

/** What rules need of the limiter. */
export interface RulesHost {
  /** So many limiters of this name are open, in all processes. */
  instances(count: number): void
  /** The block that came by itself in a subject's common counters, not one of a group. Rejects if the store does not answer. */
  blockOf(subject: Subject): Promise<OwnBlock | undefined>
  /** Ends all of them. Returns whether there were any. */
  unblock(subject: Subject): Promise<boolean>
  /** @param what the key of whom the rule is about: what people are shown can mean two */
  emit(change: RuleChanged, what: string): void
  /** Somebody looks at the traffic of all processes, for so long. */
  watched(forMs: number): void
  /** Another process asks something. */
  asked(question: string, text: string): void
  /**
   * Ends what this process holds for a subject: leases, remembered denials, and requests that wait if it is blocked.
   *
   * @param what the beginning of the subject's keys; undefined: all subjects
   */
  rulesChanged(what: string | undefined): void
}

/** Ends the limiter's name in keys of the list. */
const AFTER_NAME = '^'
/** Keys of entries that are no rules. While the first one holds, somebody looks. The others are questions. */
const [WATCHED, QUESTION] = ['w', 'q']
/** It is renewed when half of it is over. Longer, and processes tell for long after nobody looks; shorter, and it costs more writes. */
const WATCH_US = 30_000_000
const QUESTION_US = 5_000_000

/** What the keys of a limiter's entries in the list begin with. */
export function listBegin(name: string | undefined): string {
  return (name ?? '') + AFTER_NAME
}

/** The rules of one limiter: which ones apply to a request, and who has to know when they change. */
export class Rules implements RuleLookup, ListReader {
  readonly calls: RuleCalls
  readonly begin: string
  readonly instance: Instance | undefined
  readonly #options: RulesOptions
  readonly #index: RuleIndex
  readonly #ruled = new RuledPlans()
  readonly #list: Housekeeping | undefined
  /** The rules that the list had before changes of this process that are not written yet. */
  readonly #written = new Map<string, HeldRule | undefined>()
  #host: RulesHost | undefined
  /** Until when it has asked that traffic is shown, in µs. */
  #watchedUntil = 0

  constructor(given: RulesOptions) {
    this.#options = given
    this.#index = new RuleIndex(given.hide)
    this.begin = listBegin(given.name)
    if (given.local?.instances === undefined) {
      this.instance = { of: this.begin, id: randomText(9), isOpen: true }
    }
    this.#list = housekeepingOf(given.store)
    this.calls = new RuleCalls(given, { index: this.#index, list: this.#list, begin: this.begin })
  }

  /** Begins to read the list. */
  start(host: RulesHost): void {
    this.#host = host
    this.calls.start(host)
    this.#list?.join(this)
  }

  stop(): void {
    this.calls.stop()
  }

  end(): Promise<void> | undefined {
    return this.#list?.leave(this)
  }

  /** Whether the store counts the limiters of this name. Otherwise they have to count themselves. */
  get countsInstances(): boolean {
    return this.#list?.counts ?? false
  }

  onInstances(count: number): void {
    this.#host?.instances(count)
  }

  /** What this process knows of the rules; undefined if the store keeps none. */
  get state(): ListState | undefined {
    return this.#list?.state
  }

  /** The store's time, in ms. */
  nowMs(): number {
    return this.#list ? this.#list.nowUs() / 1000 : Date.now()
  }

  /** Has all processes show their traffic every two seconds, for half a minute. */
  watch(): void {
    const list = this.#list
    if (!list || this.#watchedUntil > list.nowUs() + WATCH_US / 2) return
    this.#watchedUntil = list.nowUs() + WATCH_US
    quiet([list.change(this.begin + WATCHED, WATCHED, { inUs: WATCH_US })])
  }

  /**
   * Asks all other processes something. Resolves once they can know.
   *
   * @throws {ConfigError} when there are so many rules that there is no room for the question
   * @throws {StoreError} when the store does not answer
   */
  async ask(question: string, text: string): Promise<void> {
    const end = { inUs: QUESTION_US }
    const result = await this.#list?.change(this.begin + QUESTION + question, text, end)
    if (result !== undefined) needWritten(result, end, this.#now())
  }

  /** Takes a question, to answer it. Returns false if another process has taken it. */
  async take(question: string): Promise<boolean> {
    return (await this.#list?.change(this.begin + QUESTION + question, '', { inUs: 0 })) === 'written'
  }

  get isEmpty(): boolean {
    return this.#index.isEmpty
  }

  get hasScales(): boolean {
    return this.#index.scales.size > 0
  }

  find(subject: Subject): RulesInForce | undefined {
    const found = this.#index.find(subject, this.#now)
    if (!found?.block && !found?.override) return undefined
    return { block: found.block && toBlock(found.block, found.now), override: found.override }
  }

  planFor(plan: Plan, rules: RulesInForce | undefined, isOfPlan: boolean): Plan {
    const { scales } = this.#index
    const override = (rules?.override as HeldRule | undefined)?.terms
    if (!override && (!isOfPlan || scales.size === 0)) return plan
    const found = isOfPlan && scales.size > 0 ? scales.get(subjectKey({ id: plan.name })) : undefined
    const scale = found && found.until > this.#now() ? found.terms : undefined
    return this.#ruled.planFor(plan, {
      instead: override && isOfPlan ? this.#planOf(override) : undefined,
      factor: (override?.factor ?? 1) * (scale?.factor ?? 1),
      concurrentFactor: (override?.concurrentFactor ?? 1) * (scale?.concurrentFactor ?? 1),
    })
  }

  /** The plan whose limits an override names; undefined if this process does not have it. */
  #planOf({ plan, limits }: RuleTerms): Plan | undefined {
    const { plans } = this.#options
    if (plan !== undefined) return plans.named(plan)
    try {
      return limits === undefined ? undefined : plans.compileOwn(limits)
    } catch {
      return undefined
    }
  }

  readonly #now = (): number => (this.#list as Housekeeping).nowUs()

  onEntry(listed: string, entry: RuleEntry | undefined, origin: Origin): void {
    const key = listed.slice(this.begin.length)
    if (key === WATCHED || key.startsWith(QUESTION)) return this.#onOther(key, entry, origin)
    const held = this.#index.get(key)
    if (origin === 'pending' && !this.#written.has(key)) this.#written.set(key, held)
    const now = this.#index.set(key, entry)
    if (origin === 'first') {
      // A plan may have been looked up before the list was read. What else changes, `onFirst` says.
      if (kindOf(key) === 'forgetPlan') this.#apply(key, held, now)
      return
    }
    // A plan was forgotten here as the change was made. Forgetting it again would lose what was looked up since.
    if (kindOf(key) !== 'forgetPlan' || origin === 'pending' || origin === 'there')
      this.#apply(key, held, now)
    if (origin === 'pending') return
    if (origin === 'undone') {
      this.#written.delete(key)
      this.calls.takeNote(key)
      return
    }
    const before = this.#written.has(key) ? this.#written.get(key) : held
    this.#written.delete(key)
    // What has ended by itself is forgotten without an event.
    if (entry) this.#report(key, before, now, origin === 'here')
  }

  #onOther(key: string, entry: RuleEntry | undefined, origin: Origin): void {
    if (!entry || entry.until <= this.#now()) return
    if (key === WATCHED) this.#host?.watched((entry.until - this.#now()) / 1000)
    else if (entry.text !== '' && (origin === 'there' || origin === 'first'))
      this.#host?.asked(key.slice(QUESTION.length), entry.text)
  }

  #apply(key: string, held: HeldRule | undefined, now: HeldRule | undefined): void {
    const [kind, what] = [kindOf(key), whatOf(key)]
    if (kind === 'forgetPlan') {
      if (now) this.#options.plans.forgetKey(what, this.#options.hide)
      return
    }
    if (held ?? now) this.#host?.rulesChanged(kind === 'scale' || what.endsWith('*') ? undefined : what)
  }

  onFirst(): void {
    if (!this.isEmpty) this.#host?.rulesChanged(undefined)
  }

  onGap(): void {
    this.#options.plans.forgetAll()
  }

  onRefused(error: StoreError): void {
    this.#options.warn(
      'TOLLGATE_RULES',
      `Rules are off, so no block or override holds; limits do. ${error.message}`,
    )
  }

  #report(key: string, before: HeldRule | undefined, now: HeldRule | undefined, isOwn: boolean): void {
    const lift = isOwn ? this.calls.takeNote(key) : {}
    const shown = now ?? before
    if (!shown) return
    const { by, reason } = now ? now.terms : lift
    const rule = this.calls.toRule(key, shown)
    const change = { action: now ? 'set' : 'lifted', rule, ...givenOf({ by, reason }), isOwn } as const
    const isReplaced = now && before && before.until > this.#now()
    const replaced = isReplaced ? { before: this.calls.toRule(key, before) } : {}
    this.#host?.emit({ ...change, ...replaced }, whatOf(key))
  }
}

function toBlock({ terms: { of, reason }, until }: HeldRule, now: number): RulesInForce['block'] {
  return { of, until: new Date(until / 1000), endsInMs: Math.ceil((until - now) / 1000), reason }
}
