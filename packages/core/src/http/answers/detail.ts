import { UNIT_MS } from '../../base/duration.js'
import { zoneOf } from '../../calendar/time-zone.js'
import type { Block, Decision } from '../../limiter/decision/decision.js'
import { findDenial, type Denial, type DenyingLimit } from '../../limiter/decision/denial.js'
import { OWN_LIMITS } from '../../plans/own-limits.js'

const { s: SECOND, min: MINUTE, h: HOUR, d: DAY, week: WEEK, month: MONTH, year: YEAR } = UNIT_MS

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ['day', DAY],
  ['hour', HOUR],
  ['minute', MINUTE],
  ['second', SECOND],
]

/** Longer waits are written as a date and time. */
export const LONGEST_WAIT_IN_WORDS_MS = 6 * HOUR

/**
 * Plan names that clients do not see, because you do not sell them: the plan that the option `limit` makes, and limits
 * that a subject brings.
 */
export const UNNAMED: readonly string[] = ['default', OWN_LIMITS]

/**
 * The text of a denial, for people: which limit was reached, how long to wait, or what to do instead.
 *
 * @param waitMs `Retry-After` in ms, before `maxRetryAfterMs` shortens it; undefined when waiting would not help
 */
export function detailFor(decision: Decision, waitMs: number | undefined, namePlan: boolean): string {
  const { cost } = decision
  const denial = findDenial(decision)
  if (waitMs === undefined) {
    const tooSmall = denial.limits.filter((limit) => limit.waitMs === null)
    const takes = `This request takes ${plural(cost, 'unit')}`
    return `${takes}, but ${allowanceFor(tooSmall, 'unit', namePlan)}. Waiting does not help: make it smaller, or ask for a higher limit.`
  }
  const allowance = allowanceFor(denial.limits, cost > 1 ? 'unit' : 'request', namePlan)
  const when = whenFor(denial, waitMs)
  const isByCost = cost > 1 && denial.limits.some(({ windowMs }) => windowMs > 0)
  const asked = isByCost ? `${allowance}, and this request takes ${plural(cost, 'unit')}` : allowance
  // The client has not used up what the plan allows. If the text said so, the client would ask support why.
  const sentence = denial.isOfShare ? `${asked}. At the moment only a part of that is available` : asked
  if ('after' in when) return `${capitalised(sentence)}; try again in ${when.after}.`
  return `${capitalised(sentence)}; ${cost > 1 ? 'try again' : 'the next is possible'} on ${when.on}.`
}

/** A short wait is written as a duration, a long one as a date, which is easier to remember. */
function whenFor({ limits, atMs }: Denial, waitMs: number): { after: string } | { on: string } {
  if (waitMs <= LONGEST_WAIT_IN_WORDS_MS) return { after: waitInWords(waitMs) }
  const [first, ...rest] = limits
  const longest = rest.reduce(
    (worst, limit) => ((limit.waitMs ?? 0) > (worst?.waitMs ?? 0) ? limit : worst),
    first,
  )
  return { on: dateInWords(startFor(atMs) + waitMs, longest?.timeZone ?? 'UTC') }
}

/** How long a block still lasts: `for 12 minutes`, or until when. */
export function untilFor({ until }: Block, waitMs: number): string {
  if (waitMs <= LONGEST_WAIT_IN_WORDS_MS) return `for ${waitInWords(waitMs)}`
  return `until ${dateInWords(Number(until), 'UTC')}`
}

/** If the clocks of the store and this process differ by more than this, one of them is wrong. */
const CLOCKS_PART_MS = 60_000

/**
 * When the wait began, in ms since 1970. The store's time is used, so that a calendar window ends on the exact minute,
 * or this process's time if the two differ too much.
 */
function startFor(atMs: number | undefined): number {
  const now = Date.now()
  return atMs !== undefined && Math.abs(atMs - now) < CLOCKS_PART_MS ? atMs : now
}

/** `the pro plan allows 100 requests a minute`. Begins in lower case, and joins several plans or places by `and`. */
function allowanceFor(limits: readonly DenyingLimit[], noun: string, namePlan: boolean): string {
  if (limits.length === 1) return clauseFor(limits, noun, namePlan)
  const clauses = new Map<string, DenyingLimit[]>()
  for (const limit of limits) {
    const key = JSON.stringify([nameOf(limit, namePlan), limit.place])
    clauses.set(key, [...(clauses.get(key) ?? []), limit])
  }
  const all = [...clauses.values()].map((same) => clauseFor(same, noun, namePlan))
  return all.length > 0 ? all.join(', and ') : 'there were too many requests'
}

function clauseFor(limits: readonly DenyingLimit[], noun: string, namePlan: boolean): string {
  const [first] = limits as readonly [DenyingLimit, ...DenyingLimit[]]
  const amounts = [...new Set(limits.map((limit) => amountFor(limit, noun)))].join(' and ')
  const place = first.place === undefined ? '' : ` for ${first.place}`
  const name = nameOf(first, namePlan)
  if (name !== undefined) return `the ${name} allows ${amounts}${place}`
  const isOne = limits.length === 1 && first.quota === 1
  return `only ${amounts} ${isOne ? 'is' : 'are'} allowed${place}`
}

function amountFor({ quota, windowMs, capacity, timeZone }: DenyingLimit, noun: string): string {
  if (windowMs === 0) return `${plural(quota, 'request')} at a time`
  const amount = `${plural(quota, noun)} ${perWindow(windowMs, timeZone)}`
  return capacity === quota ? amount : `${amount} (at most ${inWords(capacity)} at once)`
}

/** `pro plan`; undefined when clients must not see the name. */
function nameOf({ planName }: DenyingLimit, namePlan: boolean): string | undefined {
  if (!namePlan || planName === undefined || UNNAMED.includes(planName)) return undefined
  return /\bplan$/i.test(planName) ? planName : `${planName} plan`
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}

/** A whole number such as `5,000`. Without Intl: its formats take 10 ms to make. */
export function inWords(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',')
}

/** `1 request`, `5,000 requests`. */
export function plural(count: number, noun: string): string {
  return `${inWords(count)} ${noun}${count === 1 ? '' : 's'}`
}

/**
 * The words that follow a quota: `a minute`, `in 15 minutes`, `a month`.
 *
 * @param timeZone of a calendar window; with it, 30 days mean a calendar month, and 365 days a year
 */
export function perWindow(windowMs: number, timeZone: string | undefined): string {
  if (windowMs === WEEK) return 'a week'
  if (windowMs === MONTH && timeZone !== undefined) return 'a month'
  if (windowMs === YEAR && timeZone !== undefined) return 'a year'
  const [unit, ms] = UNITS.find(([, length]) => windowMs % length === 0) ?? ['millisecond', 1]
  const count = windowMs / ms
  if (count > 1) return `in ${plural(count, unit)}`
  return unit === 'hour' ? 'an hour' : `a ${unit}`
}

/** A length of time, rounded up and never 0: `48 seconds`, `15 minutes`, `2 hours and 5 minutes`. */
export function waitInWords(ms: number): string {
  const seconds = Math.max(Math.ceil(ms / SECOND), 1)
  if (seconds < 120 && seconds !== 60) return plural(seconds, 'second')
  const minutes = Math.ceil(seconds / 60)
  if (minutes < 120 && minutes !== 60) return plural(minutes, 'minute')
  const hours = plural(Math.floor(minutes / 60), 'hour')
  return minutes % 60 === 0 ? hours : `${hours} and ${plural(minutes % 60, 'minute')}`
}

/** One formatter per time zone. Cached, since creating one takes milliseconds. */
const formats = new Map<string, Intl.DateTimeFormat>()
/** Limits of subjects can name any zone, in any case. */
const MOST_FORMATS = 1000

/**
 * A date and time, rounded up to the minute: `1 December 2026, 00:00 (Europe/Berlin)`. If clocks are set back and show
 * that time twice, it says which one is meant: `1 November 2026, 01:30 GMT-4 (America/New_York)`.
 *
 * @param atMs ms since 1970
 */
export function dateInWords(atMs: number, timeZone: string): string {
  const minuteMs = Math.ceil(atMs / MINUTE) * MINUTE
  const parts = formatFor(timeZone).formatToParts(minuteMs)
  // Joined here, since the separators of Intl differ between versions of Node.
  const of = (type: string): string => parts.find((part) => part.type === type)?.value ?? ''
  const time = `${of('hour')}:${of('minute')}${whichOfTwo(minuteMs, timeZone)}`
  return `${of('day')} ${of('month')} ${of('year')}, ${time} (${timeZone})`
}

/** The offset from UTC if clocks are set back and show this time twice; otherwise empty. */
function whichOfTwo(atMs: number, timeZone: string): string {
  const { offsetAt } = zoneOf(timeZone)
  const offset = offsetAt(atMs)
  const isTwice = [offsetAt(atMs - DAY), offsetAt(atMs + DAY)].some(
    (other) => other !== offset && offsetAt(atMs + offset - other) === other,
  )
  return isTwice ? ` ${offsetInWords(offset)}` : ''
}

/** `GMT-4`, `GMT+10:30`. */
function offsetInWords(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / MINUTE
  const rest = minutes % 60 === 0 ? '' : `:${String(minutes % 60).padStart(2, '0')}`
  return `GMT${offsetMs < 0 ? '-' : '+'}${Math.floor(minutes / 60)}${rest}`
}

function formatFor(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  if (formats.size >= MOST_FORMATS) formats.clear()
  formats.set(timeZone, format)
  return format
}
