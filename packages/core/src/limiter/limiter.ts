import type { Booking, PenalizeOptions, RenewOptions, TopUpOptions, Usage, UsageOptions } from './booking.js'
import type { Decision } from './decision/decision.js'
import type { Rule } from '../features/rules/rule.js'
import type { OverrideOptions, RuleNote, RuleOptions, ScaleOptions } from '../features/rules/rule-options.js'
import type { LimiterEvents } from './report/events.js'
import type { MaybePromise } from '../base/promises.js'
import type { ScopeOptions } from '../requests/scope.js'
import type { Inspection } from './traffic/questions.js'
import type { RuleRecord } from './traffic/rule-log.js'
import type {
  DenialLog,
  DenialLogOptions,
  RuleLogOptions,
  TrafficView,
  TrafficViewOptions,
} from './traffic/traffic-calls.js'
import type { Reservation } from './reservation.js'
import type { ReserveOptions } from './scoped-consumer.js'
import type { LimiterHealth, LimiterStats } from './report/stats.js'
import type { Subjects } from '../requests/subject/subject.js'
import type { Subject, SubjectOf } from '../plans/subject.js'
import type { PlansInput } from '../plans/plans.js'

/** Options for one call of `consume`. */
export interface ConsumeOptions {
  /** How many quota units the request takes: a whole number from 1. Default: 1. */
  readonly cost?: number | undefined
  /**
   * An object that describes the request, for example with the name of a job. Listeners of `decision` and `limited` get
   * it as their second argument. `peek` emits no events, so it ignores this.
   */
  readonly context?: object | undefined
  /**
   * Takes a request out of the line, on a plan with `wait`. When the signal aborts, the request's units go back and
   * `consume` rejects with the signal's reason. If it has aborted before the call, `consume` throws that reason and takes
   * nothing. It does not stop a request that does not wait. `peek` never waits, so it ignores this.
   */
  readonly signal?: AbortSignal | undefined
}

/** Options for one call of `peek`. */
export interface PeekOptions extends ConsumeOptions {
  /**
   * `'throw'`: if the store fails, throw its error, for a script that shows numbers. Without this option the failure
   * policy answers: then the decision's `source` names the policy, and `limits` is empty.
   */
  readonly onStoreFailure?: 'throw' | undefined
}

/** Decides requests, for the whole application or for one scope of it. */
export interface Consumer<Plans extends string = string> {
  /**
   * Takes `cost` units from every limit of the subject's plan, or nothing at all. Always write
   * `await limiter.consume(...)`: it returns a promise or a plain value, so `.then` works with some stores only.
   *
   * With the memory store you get a value, unless `planOf` has to be waited for. With Redis you always get a promise,
   * which resolves within the deadline, whatever the store does. A look-up by `planOf` comes first and has its own
   * deadline. On a plan with `wait`, a request that does not fit now gets a promise with any store. It resolves when the
   * request's place comes, which is within `maxDelay`.
   *
   * @param subjects who pays: an id, `{ id, plan }`, or a list of these, such as a tenant and one of its users. All
   *                 their limits must have room, or nothing is taken from any
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, ERR_TOLLGATE_COST, or ERR_TOLLGATE_CONFIG for a wrong option. Nothing
   *                         has been taken then
   */
  consume(subjects: Subjects<Plans>, options?: ConsumeOptions): MaybePromise<Decision>
  /**
   * Shows where a subject stands: returns the decision that `consume` would make now, but takes nothing. Write `await`,
   * as for `consume`.
   *
   * @throws {TollgateError} as `consume` does
   * @throws {StoreError} with `onStoreFailure: 'throw'`, when the store fails or does not answer within the deadline
   * @example
   * const { limits } = await limiter.peek('acme', { onStoreFailure: 'throw' })
   */
  peek(subjects: Subjects<Plans>, options?: PeekOptions): MaybePromise<Decision>
  /**
   * Sets `cost` units of every limit aside for a request whose cost is known later. No other request can take them. Once
   * you know the cost, `commit` counts it and gives the rest back. The request never waits in line.
   *
   * @param options `cost`: the most that the request may cost; `for`: how long the units are held at most
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, ERR_TOLLGATE_COST, or ERR_TOLLGATE_CONFIG for a wrong option or a store
   *                         that cannot hold units. Nothing is held then
   * @example
   * const held = await limiter.reserve({ id: 'acme', plan: 'pro' }, { cost: 4000, for: '2min' })
   * if (held.allowed) await held.commit(1312)
   */
  reserve(subjects: Subjects<Plans>, options: ReserveOptions): Promise<Reservation>
  /**
   * Gives units back to every limit of a subject, for when you no longer have the decision that took them. If you have
   * it, use `limiter.refund(decision)`: it knows which units they were, and works only once.
   *
   * The units that have counted longest go back, and never more than are used. So refund while the units that you mean
   * still count. In a token bucket, some of them may have drained already. Slots of requests in flight do not go back.
   *
   * @param units how many at most: a whole number from 1
   * @returns whether the store gave any units back. If the store was too slow, this is false, but it may still do so
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT, or ERR_TOLLGATE_COST for `units`
   * @example await limiter.refund({ id: 'acme', plan: 'pro' }, 2)
   */
  refund(subject: SubjectOf<Plans>, units: number): Promise<boolean>
  /**
   * Gives a subject units beside the quota of one limit, such as what it bought. They are used after the quota, in any window until they
   * end, and once. `remaining` and the headers have them, and `toppedUp` says how many are left. It counts at once in all processes,
   * except where one remembers a denial: see `denials.recheckMs`.
   *
   * Only limits whose window begins and ends can have top-ups: by the month, with `timeZone` or `anchor`, or with
   * `algorithm: 'fixed-window'`. While the store is silent, processes do not know of top-ups.
   *
   * @param subject an id or a subject: if you pass `plan` to `consume`, pass it here, too
   * @throws {ConfigError} for an option, for a limit that the subject does not have, or for a store that cannot book
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT; ERR_TOLLGATE_PLAN when `planOf` fails, or there is no such plan;
   *                         ERR_TOLLGATE_KEY if the key was booked with other values; ERR_TOLLGATE_TOO_MANY_KEYS if 64 keys of the
   *                         subject still count: each for seven days and for a window of the limit, and to the end of its top-up
   * @throws {StoreError} when the store failed or was too slow. It may have booked: repeat the call with the same key
   * @example await limiter.topUp('acme', { limit: 'month', units: 50000, for: '30d', key: 'order-17' })
   */
  topUp(subject: SubjectOf<Plans>, options: TopUpOptions): Promise<Booking>
  /**
   * Begins one limit of a subject afresh, as when it has paid. Its other limits and its top-ups stay. Units on lease, reserved or waiting
   * count in the new period, and what was taken before does not come back. A calendar window still ends when it would have ended.
   *
   * @throws as `topUp` does
   * @example await limiter.renew('acme', { limit: 'month', key: 'invoice-4711' })
   */
  renew(subject: SubjectOf<Plans>, options: RenewOptions): Promise<Booking>
  /**
   * Counts units as used in one limit of a subject. With more than its quota has, it waits for one more window at most.
   *
   * @throws as `topUp` does
   * @example await limiter.penalize('acme', { limit: 'day', units: 500, key: 'abuse-3' })
   */
  penalize(subject: SubjectOf<Plans>, options: PenalizeOptions): Promise<Booking>
  /**
   * Says what a subject has used of one limit, such as for an invoice: in the window of now and, for a limit with `overage`, in the latest
   * one before it. Only limits whose window begins and ends can say it: by the month, with `timeZone` or `anchor`, with `overage`, or with
   * `algorithm: 'fixed-window'`.
   *
   * @param subject an id or a subject: if you pass `plan` and `anchor` to `consume`, pass them here, too
   * @throws as `topUp` does
   * @example
   * const { closed } = await limiter.usageOf('acme', { limit: 'month' })
   * if (closed) console.log(closed.over, closed.from, closed.until)
   */
  usageOf(subject: SubjectOf<Plans>, options: UsageOptions): Promise<Usage>
  /**
   * Forgets what a subject has used, and its top-ups. `limiter.reset` does so in the whole application, with all scopes; `reset` of a
   * scope only there. Do not refund decisions from before a reset: that can give back units that were taken after it.
   *
   * @param subject an id or a subject. If it brings limits, pass them too: Memcached forgets only the limits that it gets
   * @returns whether there was anything to forget
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT; ERR_TOLLGATE_STORE or ERR_TOLLGATE_STORE_TIMEOUT when the store
   *                         failed; ERR_TOLLGATE_CLOSED after `close`
   */
  reset(subject: Subject | string): Promise<boolean>
}

/** Limits subjects by their plans. One limiter can serve many routes, frameworks, workers and websockets. */
export interface Limiter<Plans extends string = string> extends Consumer<Plans> {
  /**
   * Gives a decision's units back to every limit, unless they have come back by themselves. Works once per decision: a
   * second call gives nothing back.
   *
   * @returns whether the store gave any units back. If the store was too slow, this is false, but it may have done so
   * @throws {TollgateError} ERR_TOLLGATE_DECISION when it is not the object that `consume` returned, such as a copy
   */
  refund(decision: Decision): Promise<boolean>
  /** As `Consumer.refund`, in the common counters. */
  refund(subject: SubjectOf<Plans>, units: number): Promise<boolean>
  /**
   * Corrects the cost of a request once it is known. Units that were too many go back. Missing units are taken, as far as
   * they fit. Works once per decision, instead of `refund`: a second call changes nothing.
   *
   * @param cost the cost of the whole request in quota units: a whole number from 0
   * @returns the units that the request has taken in all. This is the old cost if no units went back, because they had
   *          come back by themselves or the store failed. 0 if nothing was taken or counted
   * @throws {TollgateError} ERR_TOLLGATE_DECISION as for `refund`, or ERR_TOLLGATE_COST
   */
  settle(decision: Decision, cost: number): Promise<number>
  /**
   * Makes a consumer for one part of the application: with the same plans and subjects, but with separate counters, or
   * with additional limits. Call it once for each part, never per request: the limiter remembers each name for good.
   *
   * @throws {ConfigError} when an option is wrong
   * @example
   * const exports = limiter.scope({ stacked: { export: '5/min' } })
   * await exports.consume({ id: 'acme', plan: 'pro' })
   */
  scope(options: ScopeOptions): Consumer<Plans>
  /**
   * Replaces all plans of this limiter from the next request on. It changes this process alone, so call it in every
   * process. Units used in a window of the same length and algorithm still count. The default plan that you chose stays,
   * unless you give another.
   *
   * @throws {ConfigError} when a plan is wrong, or the default plan is not among them. The old plans then stay
   * @example limiter.setPlans({ basic: '100/min', pro: '3000/min' }, { defaultPlan: 'basic' })
   */
  setPlans<Names extends string>(
    plans: PlansInput<Names>,
    options?: { readonly defaultPlan?: NoInfer<Names> | undefined },
  ): void
  /**
   * Makes the subject's next request ask `planOf` again, for example after an upgrade. This holds in this process alone.
   * Other processes use the plan that they remember for up to `planCache.ttlMs`, and for one request after that.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   */
  forgetPlan(subject: Subject | string): void
  /**
   * The same in all processes, within about a second. Needs a store that keeps rules.
   *
   * @throws {ConfigError} for a store without rules
   * @throws {StoreError} when the store does not answer; see `block`
   */
  forgetPlan(subject: Subject | string, options: { readonly everywhere: true }): Promise<void>
  /**
   * Denies all requests of a subject until then: in this process at once, in all others within about a second. Replaces an
   * earlier block of this subject. Blocks need no store to be answered, and hold while it is silent.
   *
   * @param subject an id or a subject. A text with a `*` at its end is the beginning of many ids: `'trial-*'`
   * @returns the rule, once the store has it
   * @throws {ConfigError} for an option, for a store that keeps no rules, or when there are 10 000 rules already
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   * @throws {StoreError} when the store does not answer within 2 s. The rule then holds in this process, and is sent to the store
   *                      until that answers. ERR_TOLLGATE_CLOSED if the limiter is closed before
   * @example await limiter.block('acme', { for: '1h', reason: 'abuse', by: 'ops' })
   */
  block(subject: Subject | string, options: RuleOptions): Promise<Rule>
  /**
   * Lifts the block of a subject: the one that `block` set, and the one that came by itself (`blockAfter`).
   *
   * @param note who lifts it and why, for the event `rule`
   * @returns whether there was one
   * @throws as `block` does
   * @example await limiter.unblock('acme', { by: 'ops', reason: 'paid' })
   */
  unblock(subject: Subject | string, note?: RuleNote): Promise<boolean>
  /**
   * Gives a subject other limits until then: `factor` times its own, or `limits`, or those of another `plan`. What it has used
   * still counts. Replaces an earlier override of this subject.
   *
   * @throws as `block` does
   * @example await limiter.override('acme', { factor: 2, until: '2027-01-31T18:00:00Z' })
   */
  override(subject: Subject | string, options: OverrideOptions): Promise<Rule>
  /**
   * Multiplies all limits of a plan until then, for all its subjects. Groups with limits of their own and stacked limits stay.
   *
   * @param factor from 0.001 to 1000
   * @throws as `block` does
   * @example await limiter.scale('free', 0.5, { for: '1h' })
   */
  scale(plan: Plans, factor: number, options: ScaleOptions): Promise<Rule>
  /**
   * The rules that hold now, the earliest first. Asks the store first.
   *
   * @param options `of`: only those that apply to this subject, or are about this beginning of ids. For a subject also a block
   *                that came by itself (`blockAfter`): pass its plan, as for `peek`
   * @throws {StoreError} when the store does not answer
   * @example for await (const rule of limiter.rules({ of: 'acme' })) console.log(rule)
   */
  rules(options?: { readonly of?: Subject | string | undefined }): AsyncIterable<Rule>
  /**
   * Who is busiest, who is denied most, and who is near a limit: what all processes have seen in the last minute. Under load, only a part
   * of the requests is counted, so figures are estimates, and each says by how much it can be wrong. Other processes write theirs every
   * 10 s, and every two seconds once somebody has asked.
   *
   * @throws {ConfigError} for an option, or for a store that keeps no figures
   * @throws {StoreError} when the store does not answer within 2 s
   * @example const { busiest } = await limiter.traffic({ most: 5 })
   */
  traffic(options?: TrafficViewOptions): Promise<TrafficView>
  /**
   * Where a subject stands, by its plan of now: for a script that knows neither the plans nor `planOf`. A limiter with `traffic: false` asks
   * another process of the same name, which answers within two seconds. Any other limiter answers itself, as `peek` does.
   *
   * @throws {ConfigError} with `hashIds`, where no other process can be asked
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT; ERR_TOLLGATE_PLAN if the process that answered failed
   * @throws {StoreError} when the store does not answer, or no process does
   * @example const { plan, limits } = await limiter.inspect('acme')
   */
  inspect(subject: Subject | string): Promise<Inspection>
  /**
   * Who was denied, by which limit, and when. The denials of a subject by a limit in one minute are one record. The log has the latest
   * 10 000 records, of at most seven days. Other processes write theirs within 10 s.
   *
   * @throws as `traffic` does
   * @example const { from, denials } = await limiter.denialLog({ of: 'acme', from: '2030-01-31T14:00:00Z' })
   */
  denialLog(options?: DenialLogOptions): Promise<DenialLog>
  /**
   * Which rules were set, replaced and lifted, by whom and why, the latest first: 1000 changes, of at most 400 days. Rules that end by
   * themselves are not among them.
   *
   * @throws as `traffic` does
   * @example for (const { at, action, kind, by } of await limiter.ruleLog({ of: 'acme' })) console.log(at, action, kind, by)
   */
  ruleLog(options?: RuleLogOptions): Promise<readonly RuleRecord[]>
  /**
   * Calls the listener at each event of this name: see `LimiterEvents`.
   *
   * @throws {ConfigError} when the event does not exist or the listener is not a function
   */
  on<Name extends keyof LimiterEvents>(event: Name, listener: (...args: LimiterEvents[Name]) => void): Limiter
  /**
   * Removes a listener that `on` added.
   *
   * @throws {ConfigError} as `on` does
   */
  off<Name extends keyof LimiterEvents>(
    event: Name,
    listener: (...args: LimiterEvents[Name]) => void,
  ): Limiter
  /** What this limiter has done in this process since it was created. */
  stats(): LimiterStats
  /** Whether the store decides, for a readiness probe. Does no I/O. */
  health(): LimiterHealth
  /**
   * Closes the limiter. Pending requests are answered, and those that wait in line are denied. The store is charged for
   * what was admitted without it, if it answers now. A store closes with its last limiter. The failure policy decides
   * later requests.
   */
  close(): Promise<void>
}
