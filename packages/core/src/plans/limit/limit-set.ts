import type { ConcurrentOptions } from '../../algorithms/concurrent/concurrent.js'
import type { Flow } from '../../algorithms/implementation.js'
import type { BillingDay } from '../../algorithms/billing-window/billing-day.js'
import { besideId, type LimitTerms, type Params, type Terms } from '../../algorithms/limit-terms.js'
import { implementations, type AlgorithmName, type OwnOptions } from '../../algorithms/registry.js'
import type { Limit } from './limit.js'
import { apart } from './observing-limit.js'
import { isDenying } from './overage-limit.js'

export type { Params }

/** A limit as stores get it: an algorithm and its numbers. */
export interface CompiledLimit extends Omit<Terms, 'windowId' | 'otherId'> {
  readonly algorithm: AlgorithmName
  /**
   * The algorithm and window in 32 bits. A store keeps used units under this id, so they still count when the quota
   * changes, or in another plan with a limit of the same algorithm and window.
   */
  readonly stateId: number
  /**
   * Set for a limit whose units drain together (a token bucket) if a slower one has the same state id. Different units still
   * count in the two, so each needs a state of its own. The store keeps this one under `besideId`. A limit without a state
   * starts with the fullest one that is kept under either id.
   */
  readonly besideId?: number | undefined
  /**
   * The state id of the same limit for subjects with a billing day or, of a billing window, for those without. Once a store has a state
   * of a billing window, the limit without a billing day counts in that one, too.
   */
  readonly otherId?: number | undefined
  /** Set if it only observes: it denies nothing, and takes the units of a request only if they fit it. */
  readonly observes?: true | undefined
  /** Set if it counts overage: it denies nothing, and takes the units of all requests. Its algorithm has `over`. */
  readonly overage?: true | undefined
}

/** The limits of a plan, compiled once. */
export interface LimitSet {
  readonly limits: readonly CompiledLimit[]
  /** How long to keep an idle subject's state, in ms: until nothing that it used can count any more. */
  readonly ttlMs: number
  /** How a process takes units of these limits in advance; undefined if it does not. */
  readonly lease?: LeaseTerms | undefined
  /** The index of the limit of requests in flight, if there is one. There is at most one. */
  readonly inFlightIndex?: number | undefined
  /** How requests wait in line instead of being denied; undefined if they do not. */
  readonly wait?: WaitTerms | undefined
  /** When denials block a key, and for how long; undefined if they do not. */
  readonly blockAfter?: BlockTerms | undefined
  /** Set if any of its limits observes. */
  readonly observes?: true | undefined
  /** Set if any of its limits observes or counts overage. */
  readonly isLenient?: true | undefined
  /** Set if any of its limits has other windows for subjects with a billing day. */
  readonly isBillable?: true | undefined
  /** Set for subjects with a billing day: the day, and the same limits for subjects without one. */
  readonly billing?: { readonly day: BillingDay; readonly of: LimitSet } | undefined
  /** Set if it does not make requests wait, counts none in flight, and neither blocks nor warns. Stores need not read it. */
  readonly isPlain?: true | undefined
}

/** A plan's option `blockAfter`, compiled. */
export interface BlockTerms {
  /** So many denials block the key. */
  readonly denials: number
  /** They must all come within this time, in whole µs. */
  readonly withinUs: number
  /** How long each block lasts, in whole µs, in ascending order. The last repeats. */
  readonly forUs: readonly number[]
}

/** A plan's option `wait`, compiled. */
export interface WaitTerms {
  /** The longest that a request waits, in whole µs. */
  readonly delayUs: number
  /** As in Hold, in whole µs. */
  readonly slackUs: number
  /** The most requests of a subject that wait at a time, in all processes together. */
  readonly most: number
}

/** A plan's option `lease`, compiled. */
export interface LeaseTerms {
  /** The longest that a lease lasts, in whole µs. */
  readonly lengthUs: number
  /** The largest share of the units left that one lease may take, from 0 to 1. */
  readonly share: number
  /** As in LeaseWish: 0 in the mode `exact`. */
  readonly lagUs: number
}

/** A limit before it is compiled. */
export type CompilableTerms = LimitTerms<OwnOptions & ConcurrentOptions>

/** @throws {ConfigError} when one of the algorithm's own options is wrong */
export function compileLimit(algorithm: AlgorithmName, terms: CompilableTerms): CompiledLimit {
  const { code, compile } = implementations[algorithm]
  const { windowId, ...rest } = compile(terms)
  return { algorithm, stateId: code * 2 ** 28 + windowId, ...rest }
}

/** What holds for all limits of a plan together. */
export interface SetTerms {
  readonly lease?: LeaseTerms | undefined
  readonly wait?: WaitTerms | undefined
  readonly blockAfter?: BlockTerms | undefined
}

export function toLimitSet(limits: readonly Limit[], { lease, wait, blockAfter }: SetTerms = {}): LimitSet {
  const compiled = withBesideIds(observersApart(limits.map((limit) => limit.compiled)))
  const ttlMs = Math.max(...compiled.map((limit) => limit.ttlMs))
  const index = compiled.findIndex(({ algorithm }) => implementations[algorithm].inFlight)
  const inFlightIndex = index < 0 ? undefined : index
  const observes = compiled.some((limit) => limit.observes) ? true : undefined
  const isLenient = compiled.every(isDenying) ? undefined : true
  const warns = limits.some(({ warnAt }) => warnAt)
  const isPlain = wait || blockAfter || inFlightIndex !== undefined || warns ? undefined : true
  const bills = compiled.some(isBillable) ? true : undefined
  const set: LimitSet = {
    limits: compiled,
    ttlMs,
    lease,
    wait,
    inFlightIndex,
    blockAfter,
    observes,
    isLenient,
  }
  return { ...set, isPlain, isBillable: bills }
}

/** Whether a limit has other windows for subjects with a billing day. */
export function isBillable({ bill }: CompiledLimit): boolean {
  return bill !== undefined
}

/** The id that the state of a limit is kept under. */
export function keptId({ besideId, stateId }: CompiledLimit): number {
  return besideId ?? stateId
}

/**
 * A limit that observes counts fewer units than one of the same window that denies, or that is larger. So it must not have the same
 * state id: with other plans, either could be loaded from the units of the other.
 */
function observersApart(limits: readonly CompiledLimit[]): readonly CompiledLimit[] {
  return limits.map((limit) => {
    if (!limit.observes) return limit
    const counts = (other: CompiledLimit): boolean => !other.observes || isLarger(other, limit)
    return limits.some((other) => areShared(other, limit) && counts(other)) ? apart(limit) : limit
  })
}

/** Whether two limits have one state, if only for subjects with a billing day: months of all time zones are one then. */
function areShared(limit: CompiledLimit, other: CompiledLimit): boolean {
  if (limit.stateId === other.stateId) return true
  return isBillable(limit) && isBillable(other) && limit.otherId === other.otherId
}

/** Of two limits with the same state id. */
function isLarger(limit: CompiledLimit, other: CompiledLimit): boolean {
  const isSlower = (flowOf(limit)?.perUs ?? 0) < (flowOf(other)?.perUs ?? 0)
  return !isSlower && capacityOf(limit, 0) > capacityOf(other, 0)
}

/** If limits whose units drain together share a state id, all but the fullest get an id of their own. */
function withBesideIds(limits: readonly CompiledLimit[]): readonly CompiledLimit[] {
  const flows = limits.map(flowOf)
  return limits.map((limit, i) => {
    const flow = flows[i]
    if (!flow) return limit
    const isFuller = (other: Flow | undefined, j: number): boolean => {
      if (!other || limits[j]?.stateId !== limit.stateId) return false
      return (other.perUs - flow.perUs || flow.most - other.most || j - i) < 0
    }
    if (!flows.some(isFuller)) return limit
    return { ...limit, besideId: besideId(limit.stateId, `${flow.perUs} ${flow.most}`) }
  })
}

function flowOf({ algorithm, paramsAt }: CompiledLimit): Flow | undefined {
  const { create, flow } = implementations[algorithm]
  return flow?.(create(), paramsAt(0))
}

/** Puts limits of requests in flight last, where the quick way of the stores expects them. */
export function inFlightLast(limits: readonly Limit[]): readonly Limit[] {
  const isInFlight = ({ compiled }: Limit): boolean => implementations[compiled.algorithm].inFlight === true
  return [...limits.filter((limit) => !isInFlight(limit)), ...limits.filter(isInFlight)]
}

/** The most units that one request can take from a limit, at a time in ms since 1970. */
export function capacityOf({ algorithm, paramsAt }: CompiledLimit, nowMs: number): number {
  return implementations[algorithm].capacity(paramsAt(nowMs))
}

/**
 * The same limits with a share (0 to 1) of their units, rounded down, but at least one unit each. Their denials block nobody: a client
 * that fits its plan can be denied by a share.
 */
export function scaleSet(set: LimitSet, share: number): LimitSet {
  if (share === 1 && !set.blockAfter) return set
  const known = shares.get(set)
  if (known?.share === share) return known.set
  const limits = set.limits.map((limit) => scaleLimit(limit, share))
  const scaled = { ...set, limits, blockAfter: undefined }
  shares.set(set, { share, set: scaled })
  return scaled
}

const shares = new WeakMap<LimitSet, { share: number; set: LimitSet }>()

/** Like scaleSet, for one limit. */
export function scaleLimit(limit: CompiledLimit, share: number): CompiledLimit {
  const { algorithm, paramsAt, bill } = limit
  const scaleBilled = (terms: Terms): Terms => ({
    ...terms,
    paramsAt: scaledParams('billing-window', terms.paramsAt, share),
  })
  return {
    ...limit,
    paramsAt: scaledParams(algorithm, paramsAt, share),
    bill: bill && ((day) => scaleBilled(bill(day))),
  }
}

/** Computed when needed, since the parameters of a calendar window change over time. */
function scaledParams(
  algorithm: AlgorithmName,
  paramsAt: Terms['paramsAt'],
  share: number,
): Terms['paramsAt'] {
  let known: Params | undefined
  let scaled: Params = {}
  return (nowMs, behindMs) => {
    const params = paramsAt(nowMs, behindMs)
    if (params !== known) {
      known = params
      scaled = implementations[algorithm].scale(params, share)
    }
    return scaled
  }
}
