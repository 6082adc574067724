import { notationOf, UNIT_MS } from '../../base/duration.js'
import { ConfigError, show } from '../../base/errors.js'
import { implementations, spokenName, type AlgorithmName } from '../../algorithms/registry.js'
import type { Limit } from '../../plans/limit/limit.js'
import type { Plan } from '../../plans/plan.js'
import type { StoreAbilities } from '../../stores/contract.js'
import { unsupportedBy } from '../../stores/store-check.js'

/**
 * Refuses a plan that the store cannot serve: it lacks a limit's algorithm, grants no leases, cannot hold units, or cannot
 * count as high or as long as a limit needs. A synchronous store need not grant leases: it is this process's memory.
 *
 * @param path where the user wrote it: `plans.free`
 * @throws {ConfigError}
 */
export function needSupported(store: StoreAbilities, plan: Plan | undefined, path: string): void {
  if (plan?.set?.lease && !store.synchronous && !store.leases) {
    throw new ConfigError(path, 'this store grants no leases: leave lease out, or use redisStore')
  }
  if (plan?.set?.inFlightIndex !== undefined && !store.slots) {
    const problem = 'this store cannot count requests in flight'
    const quota = plan.limits[plan.set.inFlightIndex]?.quota
    throw new ConfigError(path, `${problem}: leave '${quota} concurrent' out, or use redisStore`)
  }
  if (plan?.set?.wait && !store.holds) {
    throw new ConfigError(path, 'this store books no places for requests: leave wait out, or use redisStore')
  }
  if (plan?.set?.blockAfter && !store.blocks) {
    throw new ConfigError(
      path,
      'this store counts no denials, so they cannot block anybody: leave blockAfter out, or use redisStore',
    )
  }
  if (plan?.set?.isLenient) needLenient(store, plan, path)
  const missing = plan?.set && unsupportedBy(store, plan.set)
  if (plan && missing !== undefined) throw new ConfigError(path, cannotCount(missing, store, plan))
  const tooLarge = plan?.limits.find(({ quota }) => quota > (store.largestQuota ?? Infinity))
  if (tooLarge) {
    const { name, quota } = tooLarge
    const problem = `the limit ${show(name)} has a quota of ${quota}, but this store counts only to ${store.largestQuota}`
    throw new ConfigError(path, `${problem}: count in larger units, such as kB in place of bytes`)
  }
  const tooLong = plan?.limits.find(({ compiled }) => compiled.ttlMs > (store.longestTtlMs ?? Infinity))
  if (tooLong) throw new ConfigError(path, cannotKeep(tooLong, store))
}

/** Refuses limits that deny nothing, if the store cannot count them. */
function needLenient({ observers, overage }: StoreAbilities, { limits }: Plan, path: string): void {
  if (!observers && limits.some(({ observes }) => observes)) {
    const problem = 'this store has no limits that only observe'
    throw new ConfigError(path, `${problem}: leave mode and watch out, or use redisStore`)
  }
  if (!overage && limits.some((limit) => limit.overage)) {
    const problem = 'this store does not count beyond a quota'
    throw new ConfigError(path, `${problem}: leave overage out, or use redisStore`)
  }
}

function cannotKeep({ name, compiled }: Limit, { longestTtlMs = Infinity }: StoreAbilities): string {
  const [days, most] = [compiled.ttlMs, longestTtlMs].map((ms) => Math.floor(ms / UNIT_MS.d))
  const problem = `used units of the limit ${show(name)} count for ${days} days, but this store keeps counts for at most ${most} days`
  return `${problem}: write a shorter window`
}

function cannotCount(
  missing: AlgorithmName,
  { algorithms = [], defaultAlgorithm }: StoreAbilities,
  { limits }: Plan,
): string {
  const limit = limits.find(({ compiled }) => compiled.algorithm === missing) as Limit
  const which = limits.length > 1 ? ` (the limit ${show(limit.name)})` : ''
  const { calledForBy } = implementations[missing]
  const others = algorithms.filter((one) => !implementations[one].inFlight)
  const problem = `this store cannot count ${spokenName(missing)}${which}; it counts ${others.map(spokenName).join(', ')}`
  if (defaultAlgorithm === undefined) {
    const other = others.find((one) => implementations[one].name === one)
    if (other === undefined) return problem
    const without = calledForBy === undefined ? '' : `, without ${calledForBy}`
    return `${problem}: write ${spokenName(other)}${without}`
  }
  // By its length, since '/month' would mean a calendar month.
  const same = `${limit.quota}/${notationOf(limit.windowMs)}`
  return `${problem}: write '${same}', which it counts by algorithm: '${defaultAlgorithm}'`
}

/** @throws {ConfigError} when the store cannot hold units */
export function needHolds({ holds }: StoreAbilities): void {
  if (holds) return
  const remedy = 'use redisStore or memoryStore, or consume and settle'
  throw new ConfigError('store', `this store makes no reservations: ${remedy}`)
}
