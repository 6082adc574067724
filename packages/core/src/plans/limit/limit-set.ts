import type { ConcurrentOptions } from '../../algorithms/concurrent/concurrent.js'
import type { Flow } from '../../algorithms/implementation.js'
import { besideId, type LimitTerms, type Params, type Terms } from '../../algorithms/limit-terms.js'
import { implementations, type AlgorithmName, type OwnOptions } from '../../algorithms/registry.js'
import type { Limit } from './limit.js'

export type { Params }

/** A limit as stores get it: an algorithm and its numbers. */
export interface CompiledLimit extends Pick<Terms, 'ttlMs' | 'timeZone' | 'paramsAt' | 'isSteady'> {
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

/** @throws {ConfigError} when one of the algorithm's own options is wrong */
export function compileLimit(
  algorithm: AlgorithmName,
  terms: LimitTerms<OwnOptions & ConcurrentOptions>,
): CompiledLimit {
  const { code, compile } = implementations[algorithm]
  const { windowId, ...rest } = compile(terms)
  return { algorithm, stateId: code * 2 ** 28 + windowId, ...rest }
}

/** What holds for all limits of a plan together. */
export interface SetTerms {
  readonly lease?: LeaseTerms | undefined
  readonly wait?: WaitTerms | undefined
}

export function toLimitSet(limits: readonly Limit[], { lease, wait }: SetTerms = {}): LimitSet {
  const compiled = withBesideIds(limits.map((limit) => limit.compiled))
  const ttlMs = Math.max(...compiled.map((limit) => limit.ttlMs))
  const index = compiled.findIndex(({ algorithm }) => implementations[algorithm].inFlight)
  return { limits: compiled, ttlMs, lease, wait, inFlightIndex: index < 0 ? undefined : index }
}

/** The id that the state of a limit is kept under. */
export function keptId({ besideId, stateId }: CompiledLimit): number {
  return besideId ?? stateId
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

/** The same limits with a share (0 to 1) of their units, rounded down, but at least one unit each. */
export function scaleSet(set: LimitSet, share: number): LimitSet {
  if (share === 1) return set
  const known = shares.get(set)
  if (known?.share === share) return known.set
  const scaled = { ...set, limits: set.limits.map((limit) => scaleLimit(limit, share)) }
  shares.set(set, { share, set: scaled })
  return scaled
}

const shares = new WeakMap<LimitSet, { share: number; set: LimitSet }>()

/** Like scaleSet, for one limit. */
export function scaleLimit(limit: CompiledLimit, share: number): CompiledLimit {
  let known: Params | undefined
  let scaled: Params = {}
  return {
    ...limit,
    // Computed when needed, since the parameters of a calendar window change over time.
    paramsAt(nowMs, behindMs) {
      const params = limit.paramsAt(nowMs, behindMs)
      if (params !== known) {
        known = params
        scaled = implementations[limit.algorithm].scale(params, share)
      }
      return scaled
    },
  }
}
