import { ConfigError } from '../base/errors.js'
import { meansNoLimit, noLimitGiven } from './limit-remedies.js'
import { parseLimit, type Algorithm, type Limit } from './limit.js'

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

export function refuseSameNames(limits: readonly Limit[], path: string): void {
  const seen = new Set<string>()
  limits.forEach(({ name }, i) => {
    if (seen.has(name)) {
      throw ConfigError.wrong(
        `${path}[${i}].name`,
        name,
        "a name that no other limit of the plan has: { quota: 100, window: 'min', name: 'reads' }",
      )
    }
    seen.add(name)
  })
}
