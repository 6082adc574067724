import { readDuration, UNIT_MS, UNITS } from '../../base/duration.js'
import { ConfigError } from '../../base/errors.js'
import { nearestOf, isUnits } from '../../base/options.js'
import { meantBy } from './meant-limit.js'

/** A limit as read from its short notation. */
export interface Noted {
  readonly quota: number
  readonly window: string
  readonly burst?: number
}

const NOTATION = /^\s*(\d+(?:_\d+)*)\s*(?:\/|per\s)\s*(\d*\s*[a-z]+)\s*(?:\sburst\s+(\d+(?:_\d+)*))?\s*$/i
/** A limit of requests in flight: `'20 concurrent'`. */
export const CONCURRENT_NOTATION = /^\s*(\d+(?:_\d+)*)\s+concurrent\s*$/i
/** Longer texts are not matched: that takes time by the square of the length. */
const LONGEST_NOTATION = 100

/**
 * Reads the short notation of a limit: `'100/min'`, `'10/s burst 20'`.
 *
 * @param path where the user wrote it, for the error: `plans.free[0]`
 * @throws {ConfigError} when it cannot be read; the message suggests what to write, if the intended limit can be
 *                       guessed
 */
export function readNotation(text: string, path: string): Noted {
  if (text.length > LONGEST_NOTATION) throw notALimit(path, text)
  const [, digits, window, burst] = NOTATION.exec(text) ?? []
  const duration = readDuration(window)
  if (digits === undefined || window === undefined || !duration) throw notALimit(path, text)
  const quota = toNumber(digits)
  if (!isUnits(quota)) throw notAQuota(path, text, quota)
  if (burst !== undefined) return { quota, window, burst: toNumber(burst) }
  const { unit, count, ms } = duration
  if ((unit === 'month' || unit === 'year') && count > 1) {
    const days = `'${quota}/${ms / UNIT_MS.d}d'`
    throw ConfigError.wrong(
      path,
      text,
      `${days} (the only calendar window of ${unit}s is '${quota}/${unit}')`,
    )
  }
  return { quota, window }
}

/** The error for a value that is neither text nor options, or is text that cannot be read. */
export function notALimit(path: string, given: unknown): ConfigError {
  const several = typeof given === 'string' ? severalIn(given) : undefined
  if (several !== undefined) return severalAtOnce(path, given, several)
  if (typeof given === 'string' && /^\s*-\s*\d/.test(given)) return notAQuota(path, given, -1)
  const meant = typeof given === 'string' ? meantBy(given) : isUnits(given) ? `'${given}/min'` : undefined
  if (meant !== undefined) return ConfigError.wrong(path, given, `units and a window, such as ${meant}`)
  const word = typeof given === 'string' ? nearestOf(given, ['unlimited', 'blocked']) : undefined
  const whole = word === undefined ? '' : `; did you mean '${word}'?`
  const expected = `a limit such as '100/min' or '10/s burst 20' (units of time: ${UNITS})${whole}`
  return ConfigError.wrong(path, given, expected)
}

/** @param several each of the limits, as a text of its own */
export function severalAtOnce(path: string, given: unknown, several: string): ConfigError {
  const isInList = path.endsWith(']')
  const list = isInList ? `a text for each limit: ${several}` : `several limits as a list: [${several}]`
  return ConfigError.wrong(path, given, list)
}

function notAQuota(path: string, text: string, quota: number): ConfigError {
  const blocked = quota === 0 ? "; a plan that lets nothing pass is plans: { suspended: 'blocked' }" : ''
  // Some packages write -1 for no limit.
  const unlimited = quota < 0 ? "; a plan without limits is plans: { internal: 'unlimited' }" : ''
  const such = (quota < 0 && meantBy(text.replace('-', ''))) || "'100/min'"
  return ConfigError.wrong(path, text, `a quota from 1 to 10^12, such as ${such}${blocked}${unlimited}`)
}

function toNumber(digits: string): number {
  return Number(digits.replaceAll('_', ''))
}

const LONGEST_SEVERAL = 64

/** The limits in a text, as a list: `'50/s', '1000/h'` for `50/s and 1000/h`. Undefined if it has fewer than two. */
export function severalIn(text: string): string | undefined {
  const limits = text
    .slice(0, LONGEST_SEVERAL)
    .split(/[,;&+|]|\band\b/)
    .map((one) => one.trim())
  const isEach =
    limits.length > 1 && limits.every((one) => NOTATION.test(one) || CONCURRENT_NOTATION.test(one))
  return isEach ? limits.map((one) => `'${one}'`).join(', ') : undefined
}
