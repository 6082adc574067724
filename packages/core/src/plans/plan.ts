import { ConfigError, show } from '../base/errors.js'
import { isOptions, needOptions, type KnownOptions } from '../base/options.js'
import { isShowable } from '../base/show.js'
import { needPolicyOption, type FailurePolicyOption } from './failure-policy.js'
import { needOneConcurrent } from './limit/concurrent-limit.js'
import { meansNoLimit, noLimitGiven } from './limit/meant-limit.js'
import { toLimitSet, inFlightLast, keptId, type LimitSet } from './limit/limit-set.js'
import {
  burstOf,
  limitTextOf,
  parseLimit,
  windowTextOf,
  type Limit,
  type LimitDefaults,
  type LimitInput,
} from './limit/limit.js'
import { needMode, type LimitMode, withWatched } from './limit/observing-limit.js'
import { isDenying } from './limit/overage-limit.js'
import { compileBlock, type BlockOptions } from './options/block-option.js'
import { compileLease, leasesSaidBy, type LeaseOption, type LeaseSaid } from './options/lease-option.js'
import { compileWait, type WaitOptions } from './options/wait-option.js'
import { withWarnings } from './options/warn-option.js'

/**
 * A plan: one limit, several that all hold at once, `unlimited`, or `blocked`, which denies every request. The long form
 * has more options.
 */
export type PlanInput = LimitInput | readonly LimitInput[] | 'unlimited' | 'blocked' | PlanInputOptions

/** A plan in its long form. */
export interface PlanInputOptions {
  /** One limit, several that all hold at once, `unlimited` or `blocked`. */
  readonly limits: LimitInput | readonly LimitInput[] | 'unlimited' | 'blocked'
  /** What happens to this plan's requests while the store does not answer. Default: the limiter's `onStoreFailure`. */
  readonly onStoreFailure?: FailurePolicyOption | undefined
  /** Whether a process takes units for a busy subject in advance and serves it from memory. Default: no. */
  readonly lease?: LeaseOption | undefined
  /** How long requests that do not fit wait in line instead of being denied. Default: they do not wait. */
  readonly wait?: WaitOptions | false | undefined
  /** How many denials block a subject, and for how long. Default: they block nobody. */
  readonly blockAfter?: BlockOptions | false | undefined
  /**
   * `observe`: its limits deny nothing. `lease`, `wait` and `blockAfter` then have no effect. Default: as the limiter's `mode`, and
   * without that `enforce`.
   */
  readonly mode?: LimitMode | undefined
  /**
   * The shares of a quota at which the event `nearLimit` is emitted: `[0.8, 1]`. Holds for limits with a window of an hour or more that
   * have no `warnAt` of their own, but not for one that observes beside others. Default: none.
   */
  readonly warnAt?: readonly number[] | undefined
}

/** A plan, checked and compiled. */
export interface Plan {
  readonly name: string
  /** Unique to each compiled plan: a plan that replaces another of the same name gets a new one. */
  readonly serial: number
  /** Empty for a plan that is unlimited or blocked. */
  readonly limits: readonly Limit[]
  /** The limits as stores get them; undefined when there are none. */
  readonly set: LimitSet | undefined
  /** Whether every request of its subjects is denied. */
  readonly isBlocked: boolean
  readonly onStoreFailure?: FailurePolicyOption
  /** Set if rules changed its limits for some of its subjects. */
  readonly isOverridden?: true
}

const IN_FLIGHT = "write it among the limits: { limits: ['100/min', '20 concurrent'] }"
const KNOWN: KnownOptions = {
  names: ['limits', 'onStoreFailure', 'lease', 'wait', 'blockAfter', 'mode', 'warnAt'],
  example: "{ limits: '100/min' }",
  remedyOf(name) {
    if (name === 'overage' || name === 'watch')
      return `write it in a limit: { quota: 100, window: 'month', ${name}: ... }`
    if (name === 'anchor' || name === 'timeZone')
      return `write it in a limit, { quota: 100, window: 'month', ${name}: ... }, or return it from identify for one customer`
    return /^(?:max)?(?:concurren|inflight|parallel)/i.test(name) ? IN_FLIGHT : undefined
  },
}

let serials = 0

/** The serial of a plan that is made now. */
export function newSerial(): number {
  serials += 1
  return serials
}

/**
 * Checks a plan and compiles it.
 *
 * @param defaults as in parseLimit
 * @throws {ConfigError} when it is wrong
 */
export function compilePlan(name: string, input: unknown, path: string, defaults: LimitDefaults = {}): Plan {
  // Denied clients see the name, also as plain text.
  if (!isShowable(name)) {
    const remedy = "write one without control characters, line breaks or direction marks, such as 'pro'"
    throw new ConfigError(path, `the name of this plan cannot be shown: ${remedy}`)
  }
  if (!isOptions(input) || !isLongForm(input)) return compileLimits(name, input, path, { defaults })
  needOptions(input, KNOWN, path)
  const { limits, onStoreFailure, lease, wait, blockAfter, mode, warnAt } = input as Partial<PlanInputOptions>
  const leases = lease === undefined ? [] : [{ given: lease, path: `${path}.lease` }]
  const terms = {
    leases,
    wait: { given: wait, path: `${path}.wait` },
    block: { given: blockAfter, path: `${path}.blockAfter` },
    warn: { given: warnAt, path: `${path}.warnAt` },
    defaults: mode === undefined ? defaults : { ...defaults, mode: needMode(mode, `${path}.mode`) },
  }
  const plan = compileLimits(name, limits, `${path}.limits`, terms)
  if (onStoreFailure === undefined) return plan
  needPolicyOption(`${path}.onStoreFailure`, onStoreFailure)
  return { ...plan, onStoreFailure }
}

/** `limit` most likely means `limits`; if it is a number, `quota`. The error then says so. */
function isLongForm(input: object): boolean {
  const isOfPlan = 'limit' in input && typeof input.limit !== 'number'
  return isOfPlan || 'limits' in input || 'onStoreFailure' in input
}

/** What holds for all limits of a plan. */
interface TermsForAll {
  readonly defaults: LimitDefaults
  readonly leases?: readonly LeaseSaid[]
  readonly wait?: Said
  readonly block?: Said
  readonly warn?: Said
}

/** An option as a user wrote it, and where. */
interface Said {
  readonly given: unknown
  readonly path: string
}

const NOT_SAID: Said = { given: undefined, path: '' }

/**
 * Like compilePlan, for limits alone: not the long form of a plan.
 *
 * @throws {ConfigError} when it is wrong
 */
export function compileLimits(
  name: string,
  input: unknown,
  path: string,
  { leases = [], wait = NOT_SAID, block = NOT_SAID, warn = NOT_SAID, defaults }: TermsForAll,
): Plan {
  const serial = newSerial()
  if (isWithoutLimits(input)) {
    compileLease(leases, [])
    compileWait(wait.given, { limits: [], lease: undefined, path: wait.path })
    compileBlock(block.given, { limits: [], isLeased: false, waits: false, path: block.path })
    withWarnings([], warn.given, warn.path)
    return { name, serial, limits: [], set: undefined, isBlocked: input === 'blocked' }
  }
  if (meansNoLimit(input)) throw noLimitGiven(path, input)
  if (Array.isArray(input) && input.length === 0) {
    throw ConfigError.wrong(path, input, "at least one limit, such as ['100/min'], or 'unlimited'")
  }
  const read = Array.isArray(input)
    ? Array.from(input, (limit: unknown, i) => readListed(limit, `${path}[${i}]`, defaults))
    : [parseLimit(input, path, defaults)]
  needOneConcurrent(read, path)
  if (Array.isArray(input)) refuseSameNames(read, input, path)
  const limits = inFlightLast(withWatched(withWarnings(read, warn.given, warn.path)))
  const lease = compileLease([...leases, ...leasesSaidBy(input, path)], limits)
  const denying = limits.filter(isDenying)
  // A plan that denies nothing ignores both options.
  const meant = denying.length > 0 ? denying : limits
  const waits = compileWait(wait.given, { limits: meant, lease, path: wait.path })
  const isLeased = lease !== undefined
  const blocking = { limits: meant, isLeased, waits: waits !== undefined, path: block.path }
  const blockAfter = compileBlock(block.given, blocking)
  const set = toLimitSet(limits, denying.length > 0 ? { lease, wait: waits, blockAfter } : {})
  refuseSharedState(limits, set, path)
  return { name, serial, limits, set, isBlocked: false }
}

function isWithoutLimits(input: unknown): input is 'unlimited' | 'blocked' {
  return input === 'unlimited' || input === 'blocked'
}

/** Refuses 'unlimited' and 'blocked' in a list of limits: each is a whole plan by itself. */
function readListed(given: unknown, path: string, defaults: LimitDefaults): Limit {
  if (!isWithoutLimits(given)) {
    if (meansNoLimit(given)) throw noLimitGiven(path, given)
    return parseLimit(given, path, defaults)
  }
  throw new ConfigError(
    path,
    `'${given}' is a plan by itself, without limits beside it: write '${given}', not a list`,
  )
}

/**
 * Refuses two limits of one name. If both count in the same way, the error says to drop the wider one: it never denies.
 *
 * @param inputs the limits as they were written
 * @throws {ConfigError}
 */
function refuseSameNames(limits: readonly Limit[], inputs: readonly unknown[], path: string): void {
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

/** Whether the narrow limit denies everything that the wide one does. Two that observe tell what each of them would deny. */
function isWithin(narrow: Limit, wide: Limit): boolean {
  if (narrow.overage || wide.overage || (!isDenying(narrow) && isDenying(wide))) return false
  if (narrow.observes && wide.observes && narrow.capacity !== wide.capacity) return false
  const isSameWindow = narrow.compiled.stateId === wide.compiled.stateId
  return isSameWindow && narrow.quota <= wide.quota && narrow.capacity <= wide.capacity
}

/**
 * Refuses two limits that observe and have one state. Each takes only what fits it, so they would count each other's units.
 *
 * @throws {ConfigError}
 */
function refuseSharedState(limits: readonly Limit[], set: LimitSet, path: string): void {
  const ids = set.limits.map((limit) => (limit.observes ? keptId(limit) : undefined))
  const second = ids.findIndex((id, i) => id !== undefined && ids.indexOf(id) < i)
  if (second < 0) return
  const [other, limit] = [ids.indexOf(ids[second]), second].map((i) => (limits[i] as Limit).name)
  const problem = `'${other}' and '${limit}' both observe the same window beside a larger limit`
  throw new ConfigError(path, `${problem}: only one can, so leave the other out`)
}

function neverDenies(path: string, wide: Limit, narrow: Limit): ConfigError {
  const [given, other] = [`'${limitTextOf(wide)}'`, `'${limitTextOf(narrow)}'`]
  const problem =
    given === other ? `got ${given} a second time` : `got ${given}, which can never deny beside ${other}`
  return new ConfigError(path, `${problem}: remove it`)
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
