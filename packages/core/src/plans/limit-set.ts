import { implementations, type AlgorithmName } from '../algorithms/registry.js'
import type { LimitTerms, Params, Terms } from '../algorithms/limit-terms.js'
import type { OwnOptions } from '../algorithms/registry.js'
import type { Limit } from './limit.js'

export type { Params }

/** A limit as stores get it: an algorithm and its numbers. */
export interface CompiledLimit extends Pick<Terms, 'ttlMs' | 'timeZone' | 'paramsAt'> {
  readonly algorithm: AlgorithmName
  /**
   * Algorithm and windows in 32 bits. The store keeps used units under this id, so they still count when the quota
   * changes, or in another plan with a limit of the same algorithm and window.
   */
  readonly stateId: number
}

/** The limits of a plan, compiled once. */
export interface LimitSet {
  readonly limits: readonly CompiledLimit[]
  /** How long an idle subject is remembered, in ms: until nothing it used can count any more. */
  readonly ttlMs: number
  /** How a process takes units of these limits in advance; undefined if it does not. */
  readonly lease?: LeaseTerms | undefined
}

/** An option `lease`, compiled. */
export interface LeaseTerms {
  /** The longest that a lease lasts, in whole µs. */
  readonly lengthUs: number
  /** The most of the units left that one lease may take, from 0 to 1. */
  readonly share: number
  /** As in LeaseWish: 0 in the mode `exact`. */
  readonly lagUs: number
}

/** @throws {ConfigError} when one of the algorithm's own options is wrong */
export function compileLimit(algorithm: AlgorithmName, terms: LimitTerms<OwnOptions>): CompiledLimit {
  const { code, compile } = implementations[algorithm]
  const { windowId, ttlMs, timeZone, paramsAt } = compile(terms)
  return { algorithm, stateId: code * 2 ** 28 + windowId, ttlMs, timeZone, paramsAt }
}

export function limitSet(limits: readonly Limit[], lease?: LeaseTerms): LimitSet {
  const compiled = limits.map((limit) => limit.compiled)
  return { limits: compiled, ttlMs: Math.max(...compiled.map(({ ttlMs }) => ttlMs)), lease }
}
