import { readDuration, UNIT_MS } from '../../base/duration.js'
import { ConfigError, show } from '../../base/errors.js'
import { isOptions, needOptions, needWhole, type KnownOptions } from '../../base/options.js'
import type { BlockTerms } from '../limit/limit-set.js'
import type { Limit, LimitInput } from '../limit/limit.js'

/** When a subject is blocked because of its denials, and for how long. */
export interface BlockOptions {
  /** How many denials block the subject: from 1 to 1 000 000. */
  readonly denials: number
  /** The time in which they come: `'1min'`, or a number of ms. From 1 s to 1 day. */
  readonly within: string | number
  /**
   * How long the first block lasts, then the second, and so on: `['1min', '15min', '1h']`, or numbers of ms. Each from 1 s to 400
   * days, none shorter than the one before, at most 16. The last repeats. Once a subject was not blocked for as long as the last
   * one, its next block is the first again.
   */
  readonly for: readonly (string | number)[]
}

/** Limits of a group, or on top of a plan, whose denials block a subject there. */
export interface BlockingLimits {
  readonly limits: LimitInput | readonly LimitInput[]
  readonly blockAfter: BlockOptions
}

const MOST_DENIALS = 1_000_000
const MOST_LENGTHS = 16
const [LEAST_MS, LONGEST_WITHIN_MS, LONGEST_BLOCK_MS] = [1000, UNIT_MS.d, 400 * UNIT_MS.d]

const EXAMPLE = "{ denials: 100, within: '1min', for: ['1min', '15min', '1h'] }"
const FOR = 'write for, a list of how long each block lasts'
const WITHIN = 'write within, the time in which the denials come'
const REMEDIES: Readonly<Record<string, string>> = {
  after: 'write denials, how many of them block the subject',
  count: 'write denials, how many of them block the subject',
  max: 'write denials, how many of them block the subject',
  window: WITHIN,
  per: WITHIN,
  duration: FOR,
  durationMs: FOR,
  blockDuration: FOR,
  blockFor: FOR,
}
const KNOWN: KnownOptions = {
  names: ['denials', 'within', 'for'],
  example: EXAMPLE,
  remedyOf: (name) => (Object.hasOwn(REMEDIES, name) ? REMEDIES[name] : undefined),
}

/** The plan that has the option. */
export interface BlockingPlan {
  readonly limits: readonly Limit[]
  readonly isLeased: boolean
  readonly waits: boolean
  /** Where the option stands: `plans.free.blockAfter`. */
  readonly path: string
}

/**
 * Compiles the option `blockAfter` of a plan; undefined if its denials block nobody.
 *
 * @throws {ConfigError} when an option is wrong, or the denials of these limits cannot be counted
 */
export function compileBlock(given: unknown, plan: BlockingPlan): BlockTerms | undefined {
  if (given === undefined || given === false) return undefined
  const { path } = plan
  if (!isOptions(given)) throw ConfigError.wrong(path, given, `an object of options, such as ${EXAMPLE}`)
  needOptions(given, KNOWN, path)
  const { denials, within, for: lengths } = given as Partial<BlockOptions>
  for (const [name, value] of Object.entries({ denials, within, for: lengths })) {
    if (value === undefined) throw new ConfigError(`${path}.${name}`, `this is missing: write ${EXAMPLE}`)
  }
  needWhole(`${path}.denials`, denials, { of: 'denials', least: 1, most: MOST_DENIALS, such: 100 })
  const withinMs = needTime(within, `${path}.within`, {
    longestMs: LONGEST_WITHIN_MS,
    expected: "a time from 1 s to 1 day, such as '1min' or 60000 (ms)",
  })
  const forUs = needLengths(lengths, `${path}.for`).map((ms) => ms * 1000)
  needCountable(plan)
  return { denials: denials as number, withinUs: withinMs * 1000, forUs }
}

interface Bounds {
  readonly longestMs: number
  readonly expected: string
}

function needTime(given: unknown, path: string, { longestMs, expected }: Bounds): number {
  const ms = readDuration(given)?.ms ?? 0
  if (ms >= LEAST_MS && ms <= longestMs) return ms
  throw ConfigError.wrong(path, given, expected)
}

function needLengths(given: unknown, path: string): readonly number[] {
  const expected = `a list of 1 to ${MOST_LENGTHS} times, the shortest first, such as ['1min', '15min', '1h']`
  if (!Array.isArray(given)) {
    const own = readDuration(given) ? `: write [${show(given)}]` : ''
    throw ConfigError.wrong(path, given, expected + own)
  }
  if (given.length === 0 || given.length > MOST_LENGTHS) throw ConfigError.wrong(path, given, expected)
  let before = 0
  return Array.from(given, (one: unknown, i) => {
    const bounds = { longestMs: LONGEST_BLOCK_MS, expected: "a time from 1 s to 400 days, such as '15min'" }
    const ms = needTime(one, `${path}[${i}]`, bounds)
    if (ms < before) {
      const problem = `got ${show(one)}, which is shorter than ${show(given[i - 1])} before it`
      throw new ConfigError(`${path}[${i}]`, `${problem}: write the shortest first`)
    }
    before = ms
    return ms
  })
}

/** @throws {ConfigError} when denials of this plan say nothing about its subjects, or would not be counted truthfully */
function needCountable({ limits, isLeased, waits, path }: BlockingPlan): void {
  if (limits.length === 0) {
    throw new ConfigError(path, 'this plan has no limits, so it counts no denials: leave blockAfter out')
  }
  if (limits.every(({ windowMs }) => windowMs === 0)) {
    const problem =
      'how many requests are in flight depends on how long you take to answer, so it blocks nobody'
    throw new ConfigError(path, `${problem}: leave blockAfter out, or add a limit in time, such as '100/min'`)
  }
  if (isLeased) {
    const problem =
      'this plan also has lease, and what a process lets in from a lease does not ask whether a block began'
    throw new ConfigError(path, `${problem}: leave out one of the two`)
  }
  if (waits) {
    const problem = 'this plan also has wait, whose requests have a place that a block would take away again'
    throw new ConfigError(path, `${problem}: leave out one of the two`)
  }
}
