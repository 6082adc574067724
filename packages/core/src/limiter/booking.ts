import { implementations } from '../algorithms/registry.js'
import { ConfigError, show, TollgateError } from '../base/errors.js'
import { sha256 } from '../base/platform.js'
import { expectedName, isWhole, type KnownOptions, needOptions } from '../base/options.js'
import { isShowable } from '../base/show.js'
import { type End, readEnd } from '../features/rules/rule-options.js'
import { type CompiledLimit, keptId } from '../plans/limit/limit-set.js'
import type { Limit } from '../plans/limit/limit.js'
import type { Subject } from '../plans/subject.js'
import { markKey, markName } from '../requests/key.js'
import type { Part, Request } from '../requests/request.js'
import type { CountedWindow } from '../stores/account.js'
import type {
  AccountEntry,
  AccountRequest,
  LimitOutcome,
  Outcome,
  StoreAbilities,
} from '../stores/contract.js'
import type { LimitState } from './decision/decision.js'
import { toLimitState } from './decision/limit-states.js'

/** What is booked on a limit of a subject, and under which key. */
export interface RenewOptions {
  /** The limit's name as decisions show it, such as `'month'`. */
  readonly limit: string
  /**
   * What the booking is for, such as `'invoice-4711'`: 1 to 200 characters. It counts once for each subject and key, so you can repeat the
   * call, as payment hooks do.
   */
  readonly key: string
}

/** Units that count as used at once. */
export interface PenalizeOptions extends RenewOptions {
  /** Quota units: a whole number from 1 to 10^9. */
  readonly units: number
}

/** Units beside a limit's quota: `for` this long or `until` then. One of the two. */
export interface TopUpOptions extends PenalizeOptions {
  /** `'30d'`, or a number of ms, at most 400 days. */
  readonly for?: string | number | undefined
  /** A `Date`, a text such as `'2027-01-31T18:00:00Z'`, or a number of ms since 1970. Compared with the store's clock. */
  readonly until?: Date | string | number | undefined
}

/** What became of a booking. */
export interface Booking {
  /** Whether the key was booked before. Then this call has changed nothing. */
  readonly isRepeated: boolean
  /** Where the limit stands now. */
  readonly limit: LimitState
}

/** Which limit to ask about. */
export interface UsageOptions {
  /** The limit's name as decisions show it, such as `'month'`. */
  readonly limit: string
}

/** What a limit counted in one of its windows. */
export interface PeriodUsage {
  /** All quota units that it counted. */
  readonly used: number
  /**
   * Units beyond the quota of a limit with `overage` that no top-up paid. In the running window, those that would be billed if it ended now,
   * also after a change to a plan without `overage`. 0 for other limits.
   */
  readonly over: number
  /** When the window begins and ends, by the store's clock. */
  readonly from: Date
  readonly until: Date
}

/** What a subject has used of a limit. */
export interface Usage {
  readonly limit: string
  /** The quota of the plan. */
  readonly quota: number
  /** The window of now. Left out: it begins with the next request. */
  readonly running?: PeriodUsage
  /**
   * The window before it, if anything was used in it on a plan whose limit has `overage`, and until the next window is over. `over` is by the
   * quota of that plan, whatever plan the subject has now.
   */
  readonly closed?: PeriodUsage
}

/** Something was booked on a limit. */
export interface BookedChange {
  readonly kind: 'topUp' | 'renewal' | 'penalty'
  readonly subject: Subject
  /** The name of its plan; undefined for a group's own limits and for stacked limits. */
  readonly plan: string | undefined
  /** The group or stacked limit; undefined for the common counters. */
  readonly place: string | undefined
  /** The limit's name, such as `month`. */
  readonly limit: string
  /** Units of a top-up or penalty; 0 for a renewal. */
  readonly units: number
  readonly key: string
}

type Kind = BookedChange['kind']

const LONGEST_KEY = 200
/** All top-ups that a subject can have stay far below what a store can count. */
const MOST_UNITS = 1_000_000_000
const [ID, SAYS] = [12, 6]

const OF_EACH: Readonly<Record<Kind, KnownOptions & { readonly names: readonly string[] }>> = {
  topUp: knownOptions(
    ['units', 'until', 'for'],
    "{ limit: 'month', units: 50000, until: '2027-01-31T18:00:00Z', key: 'order-17' }",
  ),
  renewal: knownOptions([], "{ limit: 'month', key: 'invoice-4711' }"),
  penalty: knownOptions(['units'], "{ limit: 'month', units: 500, key: 'abuse-3' }"),
}

function knownOptions(own: readonly string[], example: string): (typeof OF_EACH)[Kind] {
  const remedyOf = (name: string): string | undefined =>
    /^(?:id|idempotency|once)/i.test(name)
      ? "write key: 'order-17'"
      : /^(?:amount|quota|count|points)/i.test(name)
        ? 'write units: 50000'
        : undefined
  return { names: ['limit', 'key', ...own], example, remedyOf }
}

/** What a call books, without the limit's position. */
export interface BookingTerms {
  readonly entry: Omit<AccountEntry, 'limit' | 'kind'> & { readonly kind: Kind }
  /** The limit's name, and the key as it was given. */
  readonly name: string
  readonly key: string
}

/** @throws {ConfigError} for an option, or for a store that cannot book */
export function readBooking(kind: Kind, options: unknown, { accounts }: StoreAbilities): BookingTerms {
  needOptions(options, OF_EACH[kind])
  const { limit: name, key, units, ...ends } = options as Partial<TopUpOptions>
  needLimitName(name)
  if (typeof key !== 'string' || key === '' || key.length > LONGEST_KEY || !isShowable(key)) {
    const expected = `a text that says what this is for, such as 'order-17': 1 to ${LONGEST_KEY} characters that can be shown`
    throw ConfigError.wrong('key', key, expected)
  }
  if (kind !== 'renewal' && !isWhole(units, 1, MOST_UNITS)) {
    throw ConfigError.wrong('units', units, `a whole number from 1 to ${MOST_UNITS}`)
  }
  const end = kind === 'topUp' ? readEnd(ends, 'a top-up') : NO_END
  if (!accounts) {
    throw new ConfigError(
      'store',
      'this store books nothing on limits: use redisStore, or for a single process memoryStore',
    )
  }
  const says = hashOf(JSON.stringify([kind, name, units, end]), SAYS)
  return { name, key, entry: { kind, units: units ?? 0, end, says, id: hashOf(key, ID) } }
}

function needLimitName(name: unknown): asserts name is string {
  if (typeof name === 'string' && name !== '') return
  throw ConfigError.wrong('limit', name, "the name of a limit, such as 'month'")
}

const NO_END: End = { inUs: 0 }

function hashOf(text: string, length: number): string {
  return sha256(text, 'utf8').slice(0, length)
}

/** The message for a booking, and whose limit it is about. */
export interface BookingRequest {
  readonly request: AccountRequest & { readonly parts: readonly [Part] }
  /** Marks of warnings that no longer hold. */
  readonly marks: readonly string[]
  /** What is told once it is booked. */
  readonly change: BookedChange
  /** Says where the limit stands. */
  conclude(outcome: Outcome): Booking
}

/**
 * @param request       a request of the subject, which has all its limits
 * @param isPlanUnknown whether its plan is only the default plan
 * @throws {ConfigError} when the subject has no such limit, or nothing can be booked on it
 */
export function bookingRequest(
  request: Request,
  terms: BookingTerms,
  isPlanUnknown: boolean,
): BookingRequest {
  const { entry, key, name } = terms
  const [part, limit] = findLimit(request, { name, kind: entry.kind, isPlanUnknown })
  const { subject, planName: plan, place } = part
  return {
    change: { kind: entry.kind, subject, plan, place, limit: name, units: entry.units, key },
    request: {
      shard: part.shard,
      grant: 'account',
      parts: [{ ...part, cost: 1 }],
      entry: { ...entry, limit },
    },
    marks: entry.kind === 'renewal' ? marksOf(part, limit) : [],
    conclude({ booked, limits, at }) {
      if (booked === 'other' || booked === 'full') throw keyError(key, booked)
      if (booked === 'late') throw tooLate(entry.end, at)
      const state = toLimitState(limits[limit] as LimitOutcome, part.limits[limit] as Limit)
      return { isRepeated: booked === 'repeated', limit: state }
    },
  }
}

/** A question for what a limit has counted. */
export interface UsageRequest extends Pick<BookingRequest, 'request'> {
  conclude(outcome: Outcome): Usage
}

/**
 * The message that asks what a limit has counted.
 *
 * @throws {ConfigError} for an option, for a limit that the subject does not have, or for a store that cannot say it
 */
export function usageRequest(request: Request, options: UsageOptions, isPlanUnknown: boolean): UsageRequest {
  const { limit: name } = options
  const [part, index] = findLimit(request, { name, kind: 'usage', isPlanUnknown })
  const entry = { kind: 'usage', id: '', says: '', limit: index, units: 0, end: NO_END } as const
  const { quota } = part.limits[index] as Limit
  return {
    request: { shard: part.shard, grant: 'account', parts: [{ ...part, cost: 1 }], entry },
    conclude({ usage: { running, closed } = {} }) {
      return {
        ...{ limit: name, quota },
        ...(running && { running: toPeriod(running) }),
        ...(closed && { closed: toPeriod(closed) }),
      }
    },
  }
}

/** @throws {ConfigError} for an option, or for a store that cannot say it */
export function checkUsageOptions(options: unknown, { accounts }: StoreAbilities): void {
  needOptions(options, { names: ['limit'], example: "{ limit: 'month' }" })
  needLimitName((options as Partial<UsageOptions>).limit)
  if (accounts) return
  throw new ConfigError(
    'store',
    'this store does not say what limits have counted: use redisStore, or for a single process memoryStore',
  )
}

function toPeriod({ units: used, over, startUs, endUs }: CountedWindow): PeriodUsage {
  const [from, until] = [startUs, endUs].map((us) => new Date(Math.floor(us / 1000))) as [Date, Date]
  return { used, over, from, until }
}

/** The limit that a call is about, by its name. */
interface Wanted {
  readonly name: string
  readonly kind: AccountEntry['kind']
  readonly isPlanUnknown: boolean
}

function findLimit({ parts, plan }: Request, { name, kind, isPlanUnknown }: Wanted): readonly [Part, number] {
  const known = parts.filter(({ planName }) => planName === undefined || !isPlanUnknown)
  for (const part of known) {
    const index = part.limits.findIndex((limit) => limit.name === name && canBook(limit))
    if (index === -1) continue
    const { algorithm } = (part.limits[index] as Limit).compiled
    const needsWindows = kind === 'topUp' || kind === 'usage'
    if (!needsWindows || implementations[algorithm].over) return [part, index]
    const why = {
      topUp:
        'cannot have top-ups, because its units come back one by one, so there is no time at which a top-up begins to pay',
      usage: 'has no windows that begin and end: its units come back one by one',
    }[kind]
    const remedy = "count it in windows: { quota, window, algorithm: 'fixed-window' }, or by the month"
    throw new ConfigError('limit', `${show(name)} ${why}: ${remedy}`)
  }
  const unknown = parts.find((part) => !known.includes(part))
  if (unknown) throw unknownPlan(unknown.subject, plan.name)
  const names = parts.flatMap(({ limits }) => limits.filter(canBook).map((limit) => limit.name))
  const ofPlan = `plan ${show(plan.name)}${plan.isOverridden ? ', which an override changes now' : ''}`
  if (names.length > 0)
    throw ConfigError.wrong('limit', name, expectedName(name, names, `a limit of the ${ofPlan}`))
  const verb = kind === 'usage' ? 'that counts in windows' : 'on which anything can be booked'
  throw new ConfigError(
    'limit',
    `got ${show(name)}, but the ${ofPlan}${plan.isOverridden ? ',' : ''} has no limit ${verb}. ${plan.isOverridden ? 'Lift the override, or ask once it has ended' : 'Pass the subject with the plan that it used'}`,
  )
}

/** On the limits of another plan, the same call would mean something else. */
function unknownPlan({ id }: Subject, plan: string): ConfigError {
  const example = `{ id: ${show(id)}, plan: ${show(plan)} }`
  return new ConfigError(
    'subject',
    `got only the id ${show(id)}, and there are several plans: pass the same as to consume, such as ${example}`,
  )
}

/** Not on requests in flight, and not on limits that only observe. */
function canBook({ observes, compiled }: Limit): boolean {
  return !observes && !implementations[compiled.algorithm].inFlight
}

/** Of a limit, and of all others that begin afresh with it. */
function marksOf({ key, set, limits }: Part, index: number): string[] {
  const idOf = (i: number): number => keptId(set.limits[i] as CompiledLimit)
  return limits.flatMap(({ warnAt = [] }, i) =>
    idOf(i) === idOf(index) ? warnAt.map((share) => markKey(key, markName(limits, i, share))) : [],
  )
}

function keyError(key: string, booked: 'other' | 'full'): TollgateError {
  const problem =
    booked === 'full'
      ? `this subject has 64 keys that still count, the most that there can be: ${show(key)} was not booked`
      : `${show(key)} was booked with other values: repeat a call as it was, or use another key`
  const code = booked === 'full' ? 'ERR_TOLLGATE_TOO_MANY_KEYS' : 'ERR_TOLLGATE_KEY'
  return new TollgateError(code, `key: ${problem}`)
}

function tooLate(end: End, atUs: number): ConfigError {
  const given = 'at' in end ? show(new Date(end.at / 1000).toISOString()) : 'a top-up that has ended by now'
  const time = new Date(atUs / 1000).toISOString()
  return new ConfigError('until', `got ${given}, expected a time to come: by the store's clock it is ${time}`)
}
