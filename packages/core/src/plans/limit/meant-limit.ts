import { isWindowLength } from '../../algorithms/limit-terms.js'
import type { Algorithm } from '../../algorithms/registry.js'
import { LONGEST_WINDOW_MS, notationOf, readDuration, type Unit } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { isUnits, nearestOf } from '../../base/options.js'

const WINDOW = "write window: '15 min', or a number of ms"
const QUOTA = 'write quota: 100'
const QUOTA_AND_WINDOW = "write quota: 10, window: 's'"
const CONCURRENT = "write '20 concurrent', or { concurrent: 20 }, in a limit of its own"
/** What to write instead of the options of other packages. */
const LIMIT_REMEDIES = new Map([
  ['windowMs', WINDOW],
  ['timeWindow', WINDOW],
  ['duration', WINDOW],
  ['interval', WINDOW],
  ['per', WINDOW],
  ['period', WINDOW],
  ['rate', QUOTA_AND_WINDOW],
  ['refillRate', QUOTA_AND_WINDOW],
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
  ['wait', "put it into the plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }"],
])

/** What to write in place of an option that a limit in time does not have; undefined: not known. */
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

/** Words for "no limit" or for "nothing may pass", without spaces and the like. */
const NO_LIMIT =
  /^(?:no(?:ne|max|limits?)?|limitless|unlimited|unrestricted|inf(?:inite|inity)?|∞|off|disabled|false|null|undefined|blocked|denied|forbidden|banned)$/

/** Whether a value given as a limit, or as its number, most likely means that there is no limit, or that nothing may pass. */
export function meansNoLimit(given: unknown): boolean {
  if (typeof given === 'number') return given <= 0 || given === Number.POSITIVE_INFINITY
  if (typeof given !== 'string') return given === null || given === undefined || typeof given === 'boolean'
  if (/^\s*(?:0|-\d+)\s*$/.test(given)) return true
  const [word = ''] = given.slice(0, 64).split(/\/|\bper\b/i, 1)
  return NO_LIMIT.test(word.toLowerCase().replace(/[\s_-]/g, ''))
}

/** @param path where it stands, for the error: `plans.free[0]` */
export function noLimitGiven(path: string, given: unknown): ConfigError {
  // Only a plan can let nothing pass.
  const blocked = path.startsWith('plans') ? ", to let nothing pass 'blocked'" : ''
  const remedy = path.endsWith(']') ? 'leave it out of the list' : `for no limit write 'unlimited'${blocked}`
  return ConfigError.wrong(path, given, `a limit such as '100/min'; ${remedy}`)
}

const NOT_IN_TIME =
  "requests in flight count until they end, so leave it out; units in a time are a limit of their own: ['100/min', '20 concurrent']"
const NO_LEASE = 'requests in flight cannot be leased: leave it out'
const HINT = 'write retryAfterMs: 1000'
/** What to write in place of options that a limit of requests in flight does not have. */
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

/** Only this many characters of a text are read. */
const LONGEST = 64

/** Words for units of time that Tollgate writes in another way. */
const WORDS: readonly (readonly [word: RegExp, unit: Unit, count: number])[] = [
  [/^(?:[rqt]ps|secs)$/i, 's', 1],
  [/^(?:[rqt]pm|mins|minutely)$/i, 'min', 1],
  [/^(?:rph|hrs?|hourly)$/i, 'h', 1],
  [/^(?:rpd|daily)$/i, 'd', 1],
  [/^weekly$/i, 'week', 1],
  [/^mo(?:nthly)?$/i, 'month', 1],
  [/^quarter(?:ly)?$/i, 'd', 90],
  [/^y(?:early)?$/i, 'year', 1],
]
const TIMES: Readonly<Record<string, number>> = {
  k: 1e3,
  thousand: 1e3,
  m: 1e6,
  mio: 1e6,
  million: 1e6,
  bn: 1e9,
  billion: 1e9,
}

const NUMBER = String.raw`\d{1,3}(?:[ ,.]\d{3})+(?!\d)|[\d_']*[.,]?\d+(?:e\+?\d+)?_?`
/** A number and a time, with words around: `100 requests per minute`, `2k/s`, `1.5/s`, `100rpm`. */
const RATE = new RegExp(
  String.raw`^[a-z\s:]*(${NUMBER})(?![\d.,])\s*(?:([km](?=[\s/])|thousand|mio|million|bn|billion)(?![a-z]))?` +
    String.raw`([a-z\s/:@]*?)(\d+(?:[.,]\d+)?)?\s*([a-z]+)?$`,
  'i',
)
const WHOLE = new RegExp(String.raw`(?<![-\d.,])(${NUMBER})(?![\d.,])([km](?![a-z]))?`, 'i')
/** What joins a burst to its rate. */
const JOINT = /(?:[\s,;(+]|\b(?:with|and|an?)\b)+$/i
/** `per user` and the like, which is left out: requests are counted by subject anyway. */
const BY_SUBJECT =
  /\s*(?:\/|\b(?:per|for|each)\b)\s*(?:(?:each|every|an?)\s+)?(?:[a-z]+\s+)?(?:ip|user|client|key|tenant|customer|address)$/i

/** One reading of a rate. A text can have several. */
interface Rate {
  readonly quota: number
  readonly count: number
  readonly unit: Unit
}

/**
 * The limits that a text most likely means, as users write them: `'100/min'`, `'3/2s' or '3/2min'`. Undefined if that cannot be
 * guessed.
 */
export function meantBy(given: string): string | undefined {
  const text = given.slice(0, LONGEST).trim()
  const [rate, burst] = splitAtBurst(text)
  const rates = ratesIn(rate.replace(BY_SUBJECT, ''))
  const limits = rates.flatMap((rate) =>
    written(rate, burst !== undefined ? (wholeNumberIn(burst) ?? 2 * rate.quota) : undefined),
  )
  return limits.length === 0 ? undefined : [...new Set(limits)].join(' or ')
}

/** Splits a text at the word `burst`, or a word like it. The burst is undefined if no rate stands before that. */
function splitAtBurst(text: string): [rate: string, burst: string | undefined] {
  const word = text.match(/[a-z]+/gi)?.find((one) => nearestOf(one, ['burst']) !== undefined)
  if (word === undefined) return [text, undefined]
  const at = text.indexOf(word)
  const before = text.slice(0, at).replace(JOINT, '')
  const burst = text.slice(at + word.length)
  if (before === '') return [text, undefined]
  // '100 burst 200/s'
  const [time = ''] = /[a-z/]/i.test(before) ? [] : (/(?:\/|\bper\b).*$/i.exec(burst) ?? [])
  return [before + time, burst]
}

/** The same for the window of a limit in its long form: `'15min'`. */
export function windowMeantBy(given: string): string | undefined {
  return meantBy(`1/${given}`)?.replaceAll("'1/", "'")
}

/** The whole number in a text, such as `1,000` or `2k`; undefined if there is none, or a fraction. */
export function wholeNumberIn(text: string): number | undefined {
  const [, number, times] = WHOLE.exec(text) ?? []
  const whole = (numbersIn(number)[0] ?? Number.NaN) * (TIMES[times?.toLowerCase() ?? ''] ?? 1)
  return Number.isInteger(whole) ? whole : undefined
}

function ratesIn(text: string): Rate[] {
  const [, alone = ''] = /^(?:\/|per\s|each\s|every\s)?\s*([a-z]+)$/i.exec(text) ?? []
  if (alone !== '') return windowsOf('', alone).map((window) => ({ quota: 100, ...window }))
  const [, number, times = '', words = '', count = '', word = ''] = RATE.exec(text) ?? []
  const quotas = numbersIn(number).map((quota) => quota * (TIMES[times.toLowerCase()] ?? 1))
  const isNumber = words.trim() === '' && count === '' && word === ''
  const windows = isNumber ? windowsOf('', 'min') : windowsOf(count, word, words.includes('/'))
  const rates = quotas.flatMap((quota) => windows.map((window) => ({ quota, ...window })))
  // '15 min' may be a window whose limit was forgotten.
  const isWindow = words.trim() === '' && times === '' && count === '' && readDuration(word) !== undefined
  const own = isWindow ? windowsOf(number ?? '', word).map((window) => ({ quota: 100, ...window })) : []
  return [...rates, ...own].flatMap(withoutFraction)
}

/** @param hasSlash whether what follows must be a time, even without its unit */
function windowsOf(count: string, word: string, hasSlash = false): Omit<Rate, 'quota'>[] {
  const number = count === '' ? 1 : Number(count.replace(',', '.'))
  if (word === '')
    return hasSlash && count !== '' ? (['s', 'ms'] as const).map((unit) => ({ count: number, unit })) : []
  if (word.toLowerCase() === 'm') return (['min', 'month'] as const).map((unit) => ({ count: number, unit }))
  const [, unit = readDuration(word)?.unit, times = 1] = WORDS.find(([other]) => other.test(word)) ?? []
  return unit === undefined ? [] : [{ count: number * times, unit }]
}

/** The numbers that a text may mean: `100.000` is 100 in one country and 100 000 in another. */
function numbersIn(text = ''): number[] {
  if (text === '') return []
  const digits = text.replace(/[_' ]/g, '')
  if (/^\d{1,3}\.\d{3}$/.test(digits)) return [Number(digits), Number(digits.replace('.', ''))]
  const isGrouped = /^\d{1,3}(?:[,.]\d{3})+$/.test(digits)
  return [Number(isGrouped ? digits.replace(/[,.]/g, '') : digits.replace(',', '.'))]
}

/** 1.5 a second are 3 in 2 seconds. */
function withoutFraction({ quota, count, unit }: Rate): Rate[] {
  for (let times = 1; times <= 1000; times += 1) {
    const whole = Math.round(quota * times)
    if (Math.abs(quota * times - whole) < 1e-9 * times) return [{ quota: whole, count: count * times, unit }]
  }
  return []
}

/** The limit as users write it, if it is one. */
function written({ quota, count, unit }: Rate, burst: number | undefined): string[] {
  const window = windowText(count, unit)
  const ms = readDuration(window)?.ms
  if (window === undefined || ms === undefined || ms > LONGEST_WINDOW_MS || !isWindowLength(ms)) return []
  if (!isUnits(quota)) return []
  if (burst === undefined) return [`'${quota}/${window}'`]
  return isUnits(burst) && (burst / quota) * ms <= LONGEST_WINDOW_MS
    ? [`'${quota}/${window} burst ${burst}'`]
    : []
}

function windowText(count: number, unit: Unit): string | undefined {
  if (count === 1) return unit
  const { ms } = readDuration(unit) ?? { ms: 0 }
  // On the calendar there is one month and one year, not several.
  if (unit === 'month' || unit === 'year' || !Number.isInteger(count)) {
    return Number.isSafeInteger(ms * count) && ms * count >= 1 ? notationOf(ms * count) : undefined
  }
  return `${count}${unit}`
}
