import type { Algorithm } from '../../algorithms/registry.js'
import { ConfigError } from '../../base/errors.js'
import { nearestOf } from '../../base/options.js'

const WINDOW = "write window: '15 min', or a number of ms"
const QUOTA = 'write quota: 100'
const RATE = "write quota: 10, window: 's'"
const CONCURRENT = "write '20 concurrent', or { concurrent: 20 }, in a limit of its own"
/** What to write for the options of other packages. */
const LIMIT_REMEDIES = new Map([
  ['windowMs', WINDOW],
  ['timeWindow', WINDOW],
  ['duration', WINDOW],
  ['interval', WINDOW],
  ['per', WINDOW],
  ['period', WINDOW],
  ['rate', RATE],
  ['refillRate', RATE],
  ['capacity', 'write burst: 20'],
  ['max', QUOTA],
  ['limit', QUOTA],
  ['points', QUOTA],
  ['requests', QUOTA],
  ['concurrency', CONCURRENT],
  ['maxConcurrent', CONCURRENT],
  ['maxConcurrency', CONCURRENT],
  ['parallel', CONCURRENT],
  ['inFlight', CONCURRENT],
  ['maxInFlight', CONCURRENT],
  ['wait', "it goes to the plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }"],
])

/** What to write in place of an option that a limit in time does not have. */
export function limitRemedy(name: string): string | undefined {
  return LIMIT_REMEDIES.get(name) ?? (nearestOf(name, ['concurrent']) && CONCURRENT)
}

/** What other packages and articles call the algorithms, without spaces and the like. */
const ALGORITHMS: readonly (readonly [name: RegExp, nearest: Algorithm])[] = [
  [/gcra|leaky|bucket|^tokens?$/, 'token-bucket'],
  [/log|rolling|moving/, 'sliding-log'],
  [/sliding/, 'sliding-window'],
  [/fixed|window|calendar|counter/, 'fixed-window'],
]

/** The name of the algorithm that was most likely meant; undefined if that cannot be guessed. */
export function algorithmMeantBy(given: unknown, names: readonly string[]): string | undefined {
  if (typeof given !== 'string') return undefined
  const plain = given
    .slice(0, 64)
    .toLowerCase()
    .replace(/[\s_-]/g, '')
  return nearestOf(given, names) ?? ALGORITHMS.find(([name]) => name.test(plain))?.[1]
}

/** Words for no limit, or for none at all, without spaces and the like. */
const NO_LIMIT =
  /^(?:no(?:ne|max|limits?)?|limitless|unlimited|unrestricted|inf(?:inite|inity)?|∞|off|disabled|false|null|undefined|blocked|denied|forbidden|banned)$/

/** Whether a value in place of a limit or of its number most likely says that there is none, or that nothing may pass. */
export function meansNoLimit(given: unknown): boolean {
  if (typeof given === 'number') return given <= 0 || given === Number.POSITIVE_INFINITY
  if (typeof given !== 'string') return given === null || given === undefined || typeof given === 'boolean'
  if (/^\s*(?:0|-\d+)\s*$/.test(given)) return true
  const [word = ''] = given.slice(0, 64).split(/\/|\bper\b/i, 1)
  return NO_LIMIT.test(word.toLowerCase().replace(/[\s_-]/g, ''))
}

/** @param path where it stands, for the error: `plans.free[0]` */
export function noLimitGiven(path: string, given: unknown): ConfigError {
  return ConfigError.wrong(path, given, `a limit such as '100/min'${noLimitRemedy(path)}`)
}

/** What to type for no limit. Only a plan can let nothing pass. */
export function noLimitRemedy(path: string): string {
  if (path.endsWith(']')) return '; leave it out of the list'
  const blocked = path.startsWith('plans') ? ", to let nothing pass 'blocked'" : ''
  return `; for no limit write 'unlimited'${blocked}`
}

const NOT_IN_TIME =
  "requests in flight count until they end, so leave it out; units in a time are a limit of their own: ['100/min', '20 concurrent']"
const NO_LEASE = 'requests in flight cannot be leased: leave it out'
const HINT = 'write retryAfterMs: 1000'
/** The same for a limit of requests in flight. */
export const CONCURRENT_REMEDIES = new Map([
  ['quota', NOT_IN_TIME],
  ['window', NOT_IN_TIME],
  ['windowMs', NOT_IN_TIME],
  ['per', NOT_IN_TIME],
  ['burst', NOT_IN_TIME],
  ['max', NOT_IN_TIME],
  ['limit', NOT_IN_TIME],
  ['algorithm', 'requests in flight are counted in one way: leave it out'],
  ['lease', NO_LEASE],
  ['retryAfter', HINT],
  ['retryMs', HINT],
])
