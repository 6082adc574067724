import { AssertionError } from 'node:assert'
import { atCaller } from '../base/errors.js'
import { needOptions } from '../base/options.js'
import { show } from '../base/show.js'
import type { Decision, DecisionSource, DenialReason } from '../limiter/decision/decision.js'
import { isDecision, otherThanDecision, wordsOf } from './words.js'

/** What a decision that allows can be expected to have. What is left out may be anything. */
export interface ExpectedAllowance {
  /** What made the decision, such as `local` while the store is down. */
  readonly source?: DecisionSource | undefined
}

/** What a denial can be expected to have. What is left out may be anything. */
export interface ExpectedDenial extends ExpectedAllowance {
  /** The name of a limit that denied it, such as `minute`. Others may have done so, too. */
  readonly by?: string | undefined
  /** The wait in ms; null if the request can never pass. */
  readonly retryAfterMs?: number | null | undefined
  readonly reason?: DenialReason | undefined
}

/** What an assertion found. The matchers make their answers from it. */
export interface Finding {
  readonly pass: boolean
  /** What was expected: it follows `expected` or, for the opposite, `did not expect`. */
  readonly expectation: string
  /** What was given, in words. */
  readonly given: string
  /** The compared values, for runners that show a difference. */
  readonly actual: unknown
  readonly expected: unknown
}

/**
 * Passes if a decision allows.
 *
 * @throws {AssertionError} of Node otherwise, or if it is no decision. The message shows the decision's limits
 * @throws {ConfigError} when there is no such expectation
 * @example expectAllowed(await limiter.consume('acme'), { source: 'local' })
 */
export function expectAllowed(decision: Decision, expected: ExpectedAllowance = {}): void {
  assert(findAllowed(decision, expected, expectAllowed), expectAllowed)
}

/**
 * Passes if a decision denies, with all that is expected.
 *
 * @throws {AssertionError} of Node otherwise, or if it is no decision. The message shows the decision's limits
 * @throws {ConfigError} when there is no such expectation
 * @example expectDenied(await limiter.consume('acme'), { by: 'minute', retryAfterMs: 60_000 })
 */
export function expectDenied(decision: Decision, expected: ExpectedDenial = {}): void {
  assert(findDenied(decision, expected, expectDenied), expectDenied)
}

/**
 * Passes if a decision has exactly so many units left in a limit. If several subjects have a limit of this name, it is the
 * first subject's.
 *
 * @param limit its name, such as `minute`
 * @param units the expected `remaining`: how many requests of cost 1 would pass now
 * @throws {AssertionError} of Node otherwise, also if the decision does not list the limit. The message shows those that it lists
 * @example expectRemaining(await limiter.peek('acme'), 'minute', 3)
 */
export function expectRemaining(decision: Decision, limit: string, units: number): void {
  assert(findRemaining(decision, { limit, remaining: units }, expectRemaining), expectRemaining)
}

/** The function that a user called, where the stack of an error begins. */
type Entry = (...args: never[]) => unknown

function assert(finding: Finding, entry: Entry): void {
  if (!finding.pass) throw failure({ ...finding, message: messageOf(finding) }, entry)
}

function failure(
  about: Omit<Finding, 'pass' | 'expectation' | 'given'> & { message: string },
  entry: Entry,
): Error {
  const { message, actual, expected } = about
  return new AssertionError({ message, actual, expected, operator: 'deepEqual', stackStartFn: entry })
}

/** @param isNot whether the opposite was expected */
export function messageOf({ expectation, given }: Finding, isNot = false): string {
  return `${isNot ? 'did not expect' : 'expected'} ${expectation}, but got:\n\n${given}`
}

interface Wanted extends ExpectedDenial {
  readonly allowed?: boolean
  readonly limit?: string
  readonly remaining?: number
}

export function findAllowed(decision: unknown, expected: ExpectedAllowance, entry: Entry): Finding {
  atCaller(entry, () => needOptions(expected, ['source'], 'expected'))
  return find(decision, { allowed: true, ...expected }, entry)
}

export function findDenied(decision: unknown, expected: ExpectedDenial, entry: Entry): Finding {
  atCaller(entry, () => needOptions(expected, ['by', 'retryAfterMs', 'reason', 'source'], 'expected'))
  return find(decision, { allowed: false, ...expected }, entry)
}

/** @throws {AssertionError} also if the decision does not list the limit: neither it nor its opposite can then be expected */
export function findRemaining(decision: unknown, wanted: Wanted & { limit: string }, entry: Entry): Finding {
  const finding = find(decision, wanted, entry)
  if ((finding.actual as Wanted).limit !== undefined) return finding
  const message = `expected ${finding.expectation}, but the decision does not list it:\n\n${finding.given}`
  throw failure({ ...finding, message }, entry)
}

/** What to compare of a decision with each expectation. */
const ACTUAL: { readonly [Name in keyof Wanted]-?: (decision: Decision, wanted: Wanted) => unknown } = {
  allowed: ({ allowed }) => allowed,
  source: ({ source }) => source,
  // The limit itself if it denied, so that it equals the expected one.
  by: ({ violated }, { by }) => (violated.includes(by as string) ? by : violated.join(', ')),
  retryAfterMs: ({ retryAfterMs }) => retryAfterMs,
  reason: ({ reason }) => reason,
  limit: ({ limits }, { limit }) => limits.find(({ name }) => name === limit)?.name,
  remaining: ({ limits }, { limit }) => limits.find(({ name }) => name === limit)?.remaining,
}

/** @throws {AssertionError} when it is no decision, since `.not` would make a failure of that kind pass */
function find(decision: unknown, wanted: Wanted, entry: Entry): Finding {
  if (!isDecision(decision)) {
    throw failure({ message: otherThanDecision(decision), actual: decision, expected: wanted }, entry)
  }
  const names = (Object.keys(wanted) as (keyof Wanted)[]).filter((name) => wanted[name] !== undefined)
  const actual = Object.fromEntries(names.map((name) => [name, ACTUAL[name](decision, wanted)]))
  const expected = Object.fromEntries(names.map((name) => [name, wanted[name]]))
  const pass = names.every((name) => actual[name] === expected[name])
  return { pass, expectation: expectationOf(wanted), given: wordsOf(decision), actual, expected }
}

function expectationOf({ allowed, limit, remaining, ...others }: Wanted): string {
  if (limit !== undefined) return `${remaining} remaining in the limit ${show(limit)}`
  const listed = Object.entries(others).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${show(value)}`],
  )
  const having = listed.length > 0 ? ` with { ${listed.join(', ')} }` : ''
  return `the request to be ${allowed ? 'allowed' : 'denied'}${having}`
}
