import { ConfigError, show } from '../base/errors.js'
import { meansNoLimit, noLimitGiven } from './limit/limit-remedies.js'
import { burstOf, limitTextOf, windowTextOf } from './limit/limit-text.js'
import { parseLimit, type Algorithm, type Limit } from './limit/limit.js'

export function isWithoutLimits(input: unknown): input is 'unlimited' | 'blocked' {
  return input === 'unlimited' || input === 'blocked'
}

/** Refuses 'unlimited' and 'blocked' in a list of limits: each is a whole plan by itself. */
export function readListed(given: unknown, path: string, defaultAlgorithm: Algorithm | undefined): Limit {
  if (!isWithoutLimits(given)) {
    if (meansNoLimit(given)) throw noLimitGiven(path, given)
    return parseLimit(given, path, defaultAlgorithm)
  }
  throw new ConfigError(
    path,
    `'${given}' is a plan by itself, without limits beside it: write '${given}', not a list`,
  )
}

/**
 * Refuses two limits of one name. Of two that count in the same way, the wider one is to be dropped: it never denies.
 *
 * @param inputs the limits as they were written
 * @throws {ConfigError}
 */
export function refuseSameNames(limits: readonly Limit[], inputs: readonly unknown[], path: string): void {
  limits.forEach((limit, i) => {
    const first = limits.findIndex(({ name }) => name === limit.name)
    const other = limits[first] as Limit
    if (first === i) return
    if (isWithin(other, limit)) throw neverDenies(`${path}[${i}]`, limit, other)
    if (isWithin(limit, other)) throw neverDenies(`${path}[${first}]`, other, limit)
    const name = nameBeside(limit.name, limits)
    const expected = `a name that no other limit of the plan has: ${withName(limit, inputs[i], name)}`
    throw ConfigError.wrong(`${path}[${i}].name`, limit.name, expected)
  })
}

/** Whether what a limit lets pass, the other one lets pass, too. */
function isWithin(narrow: Limit, wide: Limit): boolean {
  const isSameWindow = narrow.compiled.stateId === wide.compiled.stateId
  return isSameWindow && narrow.quota <= wide.quota && narrow.capacity <= wide.capacity
}

function neverDenies(path: string, wide: Limit, narrow: Limit): ConfigError {
  const [given, other] = [`'${limitTextOf(wide)}'`, `'${limitTextOf(narrow)}'`]
  const problem =
    given === other ? `got ${given} a second time` : `got ${given}, which never denies beside ${other}`
  return new ConfigError(path, `${problem}: drop it`)
}

function nameBeside(name: string, limits: readonly Limit[]): string {
  let i = 2
  while (limits.some((limit) => limit.name === `${name}-${i}`)) i += 1
  return `${name}-${i}`
}

function withName(limit: Limit, input: unknown, name: string): string {
  if (typeof input !== 'string') return `{ ..., name: ${show(name)} }`
  if (limit.windowMs === 0) return `{ concurrent: ${limit.quota}, name: ${show(name)} }`
  const burst = burstOf(limit)
  const parts = burst === undefined ? '' : `, burst: ${burst}`
  return `{ quota: ${limit.quota}, window: '${windowTextOf(limit)}'${parts}, name: ${show(name)} }`
}
