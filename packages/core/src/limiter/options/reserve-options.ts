import { readDuration } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { needOptions, type KnownOptions } from '../../base/options.js'
import { needCost } from '../../requests/cost.js'
import { needContext } from './consume-options.js'

export interface ReserveOptions {
  /** The most quota units that the request may turn out to cost: a whole number from 1. Default: 1. */
  readonly cost?: number | undefined
  /**
   * How long the units are held at most: `'2min'`, or a number of ms; from 100 ms to 24 h. What is not committed by then
   * comes back by itself.
   */
  readonly for: string | number
  /** As in ConsumeOptions. */
  readonly context?: object | undefined
}

const [LEAST_MS, MOST_MS] = [100, 86_400_000]
const FOR = "write for: '2min', after which the units come back by themselves"
const REMEDIES: Readonly<Record<string, string>> = {
  ttl: FOR,
  ttlMs: FOR,
  duration: FOR,
  timeout: FOR,
  forMs: FOR,
}
const KNOWN: KnownOptions = {
  names: ['cost', 'for', 'context'],
  example: "{ cost: 4000, for: '2min' }",
  remedyOf: (name) => (Object.hasOwn(REMEDIES, name) ? REMEDIES[name] : undefined),
}

/**
 * @throws {ConfigError} for `for`, `context` or an unknown option
 * @throws {TollgateError} ERR_TOLLGATE_COST
 */
export function readReserveOptions(options: ReserveOptions): {
  cost: number
  lengthMs: number
  context: object | undefined
} {
  needOptions(options, KNOWN)
  const { cost = 1, for: length, context } = options
  needCost(cost, 1)
  if (context !== undefined) needContext(context)
  const lengthMs = readDuration(length)?.ms ?? 0
  if (lengthMs >= LEAST_MS && lengthMs <= MOST_MS) return { cost, lengthMs, context }
  throw ConfigError.wrong(
    'for',
    length,
    "how long the units are held at most: from 100 ms to 24 h, such as '2min'",
  )
}
