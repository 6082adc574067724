import { readDuration, UNIT_MS } from '../../base/duration.js'
import { ConfigError, show } from '../../base/errors.js'
import { givenOf, isOptions, needOptions, type KnownOptions } from '../../base/options.js'
import { isShowable } from '../../base/show.js'
import type { OwnLimits } from '../../plans/own-limits.js'
import type { Subject } from '../../plans/subject.js'
import { type HideId, subjectKey } from '../../requests/key.js'
import { isAddress } from '../../requests/subject/address.js'
import { needSubject } from '../../requests/subject/subject.js'
import type { ChangeResult } from '../../stores/rule-list.js'
import type { Rule, RuleTerms } from './rule.js'

/** Who changes a rule, and why. Both are for people: 1 to 200 characters that can be shown. */
export interface RuleNote {
  /** Who sets or lifts it, such as `'ops'`. */
  readonly by?: string | undefined
  /** Why. With the option `nameReason` of `rateLimit`, a blocked client sees it. */
  readonly reason?: string | undefined
}

/** How long a rule holds: `for` this long or `until` then. One of the two, at most 400 days. */
export interface RuleOptions extends RuleNote {
  /** `'1h'`, or a number of ms. */
  readonly for?: string | number | undefined
  /** A `Date`, a text such as `'2027-01-31T18:00:00Z'`, or a number of ms since 1970. Compared with the store's clock. */
  readonly until?: Date | string | number | undefined
}

/** What applies to a subject instead of its plan's limits, or what they are multiplied by. */
export interface OverrideOptions extends RuleOptions {
  /**
   * What all limits of the subject are multiplied by: those of its plan, of groups and stacked ones, but not its requests in
   * flight. Each is rounded, and is at least 1. From 0.001 to 1000.
   */
  readonly factor?: number | undefined
  /** The same for its limits of requests in flight. */
  readonly concurrentFactor?: number | undefined
  /** Limits instead of the plan's. */
  readonly limits?: OwnLimits | undefined
  /** The plan whose limits apply. */
  readonly plan?: string | undefined
}

/** How long a plan is scaled. */
export interface ScaleOptions extends RuleOptions {
  /** As in OverrideOptions. */
  readonly concurrentFactor?: number | undefined
}

const LONGEST_MS = 400 * UNIT_MS.d
const LONGEST_NOTE = 200
const LONGEST_SHOWN = 128
const LONGEST_PREFIX = 64
const [LEAST_FACTOR, MOST_FACTOR] = [0.001, 1000]

const FOR = "write for: '1h', or until: '2027-01-31T18:00:00Z'"
const NOTES = ['by', 'reason']
const ENDS = ['for', 'until', ...NOTES]
const KNOWN: KnownOptions = {
  names: ENDS,
  example: "{ for: '1h', reason: 'abuse', by: 'ops' }",
  remedyOf: (name) => (/^(?:ttl|duration|expires?|ms|end)/i.test(name) ? FOR : undefined),
}
const OF_OVERRIDE: KnownOptions = {
  ...KNOWN,
  names: ['factor', 'concurrentFactor', 'limits', 'plan', ...ENDS],
  example: "{ factor: 2, for: '1h' }",
}
const OF_SCALE: KnownOptions = { ...KNOWN, names: ['concurrentFactor', ...ENDS], example: "{ for: '1h' }" }

/** When a rule ends, as the list takes it. */
export type End = { readonly inUs: number } | { readonly at: number }

/** What the limiter knows that options are checked against. */
export interface Against {
  /** @throws {ConfigError} when the plan does not exist */
  readonly needPlan: (path: string, name: unknown) => void
  /** @throws {ConfigError} when they are not valid limits, or the store cannot count them */
  readonly needLimits: (limits: unknown) => void
}

/** Who changed a rule, and why, if that was given. */
export type Noted = Pick<Rule, 'by' | 'reason'>

/** What a rule says, and when it ends. */
export interface RuleRead {
  readonly terms: Omit<RuleTerms, 'kind' | 'of'>
  readonly end: End
}

/** @throws {ConfigError} */
export function readBlock(options: unknown): RuleRead {
  needOptions(options, KNOWN)
  return read(options as RuleOptions, {})
}

/** @throws {ConfigError} */
export function readOverride(options: unknown, { needPlan, needLimits }: Against): RuleRead {
  needOptions(options, OF_OVERRIDE)
  const { factor, concurrentFactor, limits, plan } = options as OverrideOptions
  if (factor === undefined && concurrentFactor === undefined && limits === undefined && plan === undefined) {
    throw new ConfigError(
      '',
      "write what to override: { factor: 2 }, { limits: ['5000/min'] } or { plan: 'pro' }",
    )
  }
  if (limits !== undefined && plan !== undefined) {
    throw new ConfigError('limits', 'there is also plan, and only one can apply: write one of the two')
  }
  needFactor('factor', factor)
  needFactor('concurrentFactor', concurrentFactor)
  if (plan !== undefined) needPlan('plan', plan)
  if (limits !== undefined) needLimits(limits)
  return read(options as OverrideOptions, { factor, concurrentFactor, limits, plan })
}

/** @throws {ConfigError} */
export function readScale(
  plan: unknown,
  factor: unknown,
  { options, needPlan }: { readonly options: unknown } & Pick<Against, 'needPlan'>,
): RuleRead {
  needPlan('plan', plan)
  if (factor === undefined) throw ConfigError.wrong('factor', factor, FACTOR)
  needFactor('factor', factor)
  needOptions(options, OF_SCALE)
  const { concurrentFactor } = options as ScaleOptions
  needFactor('concurrentFactor', concurrentFactor)
  return read(options as ScaleOptions, { factor: factor as number, concurrentFactor })
}

function read(options: RuleOptions, terms: Omit<OverrideOptions, keyof RuleOptions>): RuleRead {
  return { terms: { ...noteIn(options), ...givenOf(terms) }, end: readEnd(options) }
}

/**
 * Who lifts a rule, and why.
 *
 * @throws {ConfigError}
 */
export function readNote(options: unknown): Noted {
  if (options === undefined) return {}
  const example = "{ by: 'ops', reason: 'paid' }"
  if (!isOptions(options)) throw ConfigError.wrong('note', options, `an object, such as ${example}`)
  needOptions(options, { names: NOTES, example })
  return noteIn(options as RuleNote)
}

function noteIn({ by, reason }: RuleNote): Noted {
  needNote('by', by, "who does this, such as 'ops'")
  needNote('reason', reason, "why, such as 'abuse'")
  return givenOf({ by, reason })
}

const FACTOR = `a number from ${LEAST_FACTOR} to ${MOST_FACTOR}, such as 2 or 0.5`

function needFactor(path: string, given: unknown): void {
  if (given === undefined) return
  if (typeof given === 'number' && given >= LEAST_FACTOR && given <= MOST_FACTOR) return
  const block = given === 0 ? '; to let nothing pass, use block' : ''
  throw ConfigError.wrong(path, given, FACTOR + block)
}

function needNote(path: string, given: unknown, what: string): void {
  if (given === undefined) return
  if (typeof given === 'string' && given.length >= 1 && given.length <= LONGEST_NOTE && isShowable(given))
    return
  throw ConfigError.wrong(path, given, `${what}: 1 to ${LONGEST_NOTE} characters that can be shown`)
}

/** @param what ends, in words for the error */
export function readEnd({ for: length, until }: Pick<RuleOptions, 'for' | 'until'>, what = 'a rule'): End {
  if (length === undefined && until === undefined)
    throw new ConfigError('for', `${what} needs an end: ${FOR}`)
  if (length !== undefined && until !== undefined) {
    throw new ConfigError('for', 'there is also until, and only one can apply: write one of the two')
  }
  if (length !== undefined) {
    const ms = readDuration(length)?.ms ?? 0
    if (ms >= 1 && ms <= LONGEST_MS) return { inUs: Math.round(ms * 1000) }
    throw ConfigError.wrong('for', length, "a time from 1 ms to 400 d, such as '1h'")
  }
  const ms = timeOf(until)
  if (Number.isFinite(ms) && Math.abs(ms) <= LATEST_MS) return { at: Math.round(ms) * 1000 }
  const isText = typeof until === 'string' && Number.isFinite(Date.parse(until))
  const zone = !isText ? '' : isDay(until) ? ' with its time zone' : ' on a day that exists'
  throw ConfigError.wrong('until', until, `a time${zone}, such as '2027-01-31T18:00:00Z' or a Date`)
}

/** In µs it is still a safe integer. */
const LATEST_MS = 8e12

/** A moment in ms since 1970; NaN if it is none, or a text without a time zone. */
export function timeOf(given: unknown): number {
  if (typeof given === 'number') return given
  // Without a zone, a text would mean another time on each server.
  if (typeof given === 'string') {
    return /(?:Z|[+-]\d\d:?\d\d)$/i.test(given) && isDay(given) ? Date.parse(given) : NaN
  }
  return Object.prototype.toString.call(given) === '[object Date]' ? Number(given) : NaN
}

/** Whether its day exists. JavaScript takes 30 February for 2 March. */
function isDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text) ?? []
  return (
    day === undefined ||
    new Date(Date.UTC(Number(year), Number(month) - 1, Number(day))).getUTCDate() === Number(day)
  )
}

/**
 * @param until in µs, by the store's clock
 * @param now   the store's time, in µs
 * @throws {ConfigError} when it is too late
 */
export function needNotTooLong(until: number, now: number): void {
  if (until - now <= LONGEST_MS * 1000) return
  throw ConfigError.wrong('until', new Date(until / 1000).toISOString(), 'a time within 400 days from now')
}

/** @throws {ConfigError} when the list did not take a rule with this end */
export function needWritten(result: ChangeResult, end: End, now: number): void {
  if (result === 'full') {
    throw new ConfigError(
      '',
      'there are 10000 rules already, the most that there can be: lift some, or scale a plan',
    )
  }
  if (result !== 'past') return
  const time = new Date(now / 1000).toISOString()
  const given = 'at' in end ? show(new Date(end.at / 1000).toISOString()) : 'a rule that has ended by now'
  throw new ConfigError('until', `got ${given}, expected a time to come: by the store's clock it is ${time}`)
}

/** Whom a rule is about. */
export interface Target {
  /** A subject's key, or the beginning of ids with a `*` behind it. */
  readonly what: string
  /** As people are shown it. */
  readonly of: string
  /** The subject's id, if rules for the beginnings of ids apply to it. */
  readonly id?: string
}

/**
 * Reads a subject, or a text with a `*` at its end: all subjects whose ids begin like this.
 *
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
 * @throws {ConfigError} for a text that would match nobody
 */
export function readTarget(given: unknown, hide: HideId | undefined): Target {
  if (typeof given === 'string') {
    if (given.includes('*')) return readPrefix(given, hide)
    needNoNetwork(given)
  }
  const subject = needSubject(given)
  const what = subjectKey(subject, hide)
  const id = String(subject.id)
  const of = hide || id.length > LONGEST_SHOWN || !isShowable(id) ? what : id
  return subject.kind === 'ip' ? { what, of } : { what, of, id }
}

function readPrefix(given: string, hide: HideId | undefined): Target {
  const prefix = given.slice(0, -1)
  const exact = `{ id: ${show(given)} } means the subject with just this id`
  if (hide)
    throw new ConfigError('subject', `ids are hashed (hashIds), so no beginning of them is known; ${exact}`)
  if (prefix === '') throw new ConfigError('subject', "'*' is every subject: scale a plan, or write setPlans")
  if (given.endsWith('*') && BEGINNING_OF_ADDRESS.test(prefix)) {
    throw ConfigError.wrong(
      'subject',
      given,
      `the beginning of ids. No beginning matches addresses: ${NETWORKS}`,
    )
  }
  if (given.endsWith('*') && prefix.length <= LONGEST_PREFIX && isShowable(prefix) && !prefix.includes('*'))
    return { what: given, of: given }
  const expected = `the first 1 to ${LONGEST_PREFIX} characters of ids and one '*' behind them, such as 'trial-*'; ${exact}`
  throw ConfigError.wrong('subject', given, expected)
}

const NETWORKS =
  "use subjectForIp for one address, and the option blockList for a network, such as '192.0.2.0/24'"
const BEGINNING_OF_ADDRESS = /^(?:\d{1,3}\.){1,3}(?:\d{1,3})?$|^[\da-f]{1,4}:[\da-f]{0,4}:[\da-f:]*$/i

/** No subject has a network as its id, except an IPv6 address, whose id is its network. */
function needNoNetwork(given: string): void {
  const [address = '', bits] = given.split('/')
  if (bits === undefined || !/^\d{1,3}$/.test(bits) || !isAddress(address) || address.includes(':')) return
  throw ConfigError.wrong('subject', given, `an id or a subject: ${NETWORKS}`)
}

/** Whether a rule about `what` applies to a subject, or is about this beginning of ids. */
export function isAbout(what: string, target: Target): boolean {
  if (what === target.what) return true
  if (!what.endsWith('*') || target.what.endsWith('*') || target.id === undefined) return false
  return target.id.startsWith(what.slice(0, -1))
}

/** Whom `rules({ of })` asks for; undefined: all. */
export function readOf(options: unknown, hide: HideId | undefined): Target | undefined {
  if (options === undefined) return undefined
  if (!isOptions(options)) throw ConfigError.wrong('options', options, "an object, such as { of: 'acme' }")
  needOptions(options, { names: ['of'], example: "{ of: 'acme' }" })
  const { of } = options as { readonly of?: Subject | string }
  return of === undefined ? undefined : readTarget(of, hide)
}
