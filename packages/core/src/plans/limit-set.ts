import { implementations, type AlgorithmName } from '../algorithms/registry.js'
import { fnv1a } from '../base/hash.js'
import { createCalendar } from '../base/calendar.js'
import type { Limit } from './limit.js'

/** A limit as stores see it: an algorithm and its numbers. */
export interface CompiledLimit {
  readonly algorithm: AlgorithmName
  /**
   * Algorithm and window in 32 bits: what a subject has used is kept under it, so that it still counts when the
   * quota changes or another plan has a limit of the same kind.
   */
  readonly stateId: number
  /** How long an idle subject's use of it is remembered, in ms: until none of it can count any more. */
  readonly ttlMs: number
  /** The algorithm's parameters by the names in its `wire`. Those of a calendar change with the time. */
  paramsAt(nowMs: number): Params
}

export type Params = Readonly<Record<string, number>>

/** The limits of a plan, compiled once. */
export interface LimitSet {
  readonly limits: readonly CompiledLimit[]
  /** How long an idle subject is remembered, in ms: until nothing that it used can count any more. */
  readonly ttlMs: number
}

export function compileLimits(limits: readonly Limit[]): LimitSet {
  const compiled = limits.map(compile)
  return {
    limits: compiled.map(({ limit, ttlMs }) => ({ ...limit, ttlMs })),
    ttlMs: Math.max(...compiled.map(({ ttlMs }) => ttlMs)),
  }
}

interface Compiled {
  readonly limit: Omit<CompiledLimit, 'ttlMs'>
  readonly ttlMs: number
}

function compile(limit: Limit): Compiled {
  const { windowMs } = limit
  if (limit.calendar) return compileCalendar(limit, limit.calendar)
  switch (limit.algorithm) {
    case 'sliding-log':
      return { limit: fixedParams(limit, 'sliding-log', logParams(limit)), ttlMs: windowMs }
    case 'sliding-window':
      return { limit: fixedParams(limit, 'sliding-window', windowParams(limit)), ttlMs: 2 * windowMs }
    case 'fixed-window':
      return { limit: fixedParams(limit, 'fixed-window', windowParams(limit)), ttlMs: windowMs }
    case 'token-bucket': {
      const { quota, burst = quota } = limit
      // What a larger burst left above the brim takes a window to drain.
      const ttlMs = Math.ceil(Math.max(burst / quota, 1) * windowMs) + 1
      return { limit: fixedParams(limit, 'token-bucket', bucketParams(limit)), ttlMs }
    }
  }
}

function fixedParams(limit: Limit, algorithm: AlgorithmName, params: Params): Compiled['limit'] {
  return { algorithm, stateId: stateIdOf(algorithm, limit.windowMs), paramsAt: () => params }
}

function windowParams({ quota, windowMs }: Limit): Params {
  return { quota, windowUs: windowMs * 1000 }
}

/** Up to this many entries a log is kept exactly, or in as many slots. */
const LOG_SLOTS = 128

function logParams({ quota, windowMs, precisionMs }: Limit): Params {
  const windowUs = windowMs * 1000
  const slots = quota <= LOG_SLOTS ? 1 : Math.floor(windowUs / LOG_SLOTS)
  const slotUs = precisionMs === undefined ? Math.max(slots, 1) : precisionMs * 1000
  return { quota, windowUs, slotUs, unitBytes: countBytes(quota) }
}

/** Bytes that hold a count up to the quota. */
export function countBytes(quota: number): number {
  return Math.ceil(Math.log2(quota + 1) / 8)
}

/** A level is below 2^LEVEL_BITS parts, so that doubles hold it with bits to spare for rounding. */
const LEVEL_BITS = 46

function bucketParams({ quota, windowMs, burst = quota }: Limit): Params {
  const scale = bucketScale(burst)
  const windowUs = windowMs * 1000
  return { burst, scale, rate: (quota * 2 ** scale) / windowUs, windowUs }
}

/** As many parts of a unit as such a burst leaves bits for. */
export function bucketScale(burst: number): number {
  return LEVEL_BITS - Math.ceil(Math.log2(burst))
}

function compileCalendar(limit: Limit, spec: NonNullable<Limit['calendar']>): Compiled {
  const calendar = createCalendar(spec.unit, spec.timeZone, spec.anchor)
  let known: readonly number[] = []
  let params: Params = {}
  const paramsAt = (nowMs: number): Params => {
    const starts = calendar.startsAround(nowMs)
    if (starts !== known) {
      known = starts
      const [start0, start1, start2, start3] = starts.map((ms) => ms * 1000) as [
        number,
        number,
        number,
        number,
      ]
      params = { quota: limit.quota, start0, start1, start2, start3 }
    }
    return params
  }
  const stateId = calendarStateIdOf(calendar.id)
  return { limit: { algorithm: 'calendar-window', stateId, paramsAt }, ttlMs: calendar.maxWindowMs }
}

/** Windows that begin at other times are others, however long they are. */
function calendarStateIdOf(id: string): number {
  return implementations['calendar-window'].code * 2 ** 28 + (fnv1a(id) % 2 ** 28)
}

const WINDOW_UNITS_MS = [1, 1000, 60_000, 3_600_000]
const WINDOW_LENGTHS = 2 ** 26

function stateIdOf(algorithm: AlgorithmName, windowMs: number): number {
  const unit = WINDOW_UNITS_MS.findIndex((ms) => windowMs % ms === 0 && windowMs / ms < WINDOW_LENGTHS)
  const length = windowMs / (WINDOW_UNITS_MS[unit] as number)
  return implementations[algorithm].code * 2 ** 28 + unit * WINDOW_LENGTHS + length
}
