import { implementations, NEVER, type CompiledLimit, type Params } from '@tollgate/core/store'

/** The algorithms of counters: what one command can add to. */
export const ALGORITHMS = ['sliding-window', 'fixed-window', 'calendar-window'] as const

/** A window that units are counted in: from `startUs` to `endUs`, in µs since 1970. */
export interface CountedWindow {
  readonly startUs: number
  readonly endUs: number
}

/**
 * The window that a time is in. Fixed windows begin at multiples of their length: Memcached does not record when one was
 * opened.
 */
export function windowAt(limit: CompiledLimit, params: Params, nowUs: number): CountedWindow {
  if (limit.algorithm === 'calendar-window') return calendarWindowAt(params, nowUs)
  const { windowUs = 1 } = params
  const startUs = nowUs - (nowUs % windowUs)
  return { startUs, endUs: startUs + windowUs }
}

function calendarWindowAt({ start0, start1, start2, start3 }: Params, nowUs: number): CountedWindow {
  const starts = [start0, start1, start2, start3] as [number, number, number, number]
  const next = starts.findIndex((start) => start > nowUs)
  return { startUs: starts[next - 1] ?? starts[0], endUs: starts[next] ?? starts[3] }
}

/** How long units count after their window has ended, in µs: those of a sliding window for another. */
export function countsAfterUs({ algorithm }: CompiledLimit, { startUs, endUs }: CountedWindow): number {
  return algorithm === 'sliding-window' ? endUs - startUs : 0
}

/** The units of a window and of the one before it, at a time. */
export interface Counted extends CountedWindow {
  readonly nowUs: number
  readonly units: number
  /** 0 unless the window slides. */
  readonly previous: number
}

const sliding = implementations['sliding-window']
/** One state for all, filled anew for each question: it is the one of core, so the numbers are those of every store. */
const state = sliding.create() as { currentNow: number; previousNow: number; leftNow: number }

/** µs until a cost fits: 0 it fits now; -1 never. */
export function waitOf({ algorithm }: CompiledLimit, params: Params, counted: Counted, cost: number): number {
  const { quota = 0 } = params
  if (cost > quota) return NEVER
  if (algorithm === 'sliding-window') return sliding.wait(stateOf(counted), cost, params)
  return counted.units + cost <= quota ? 0 : counted.endUs - counted.nowUs
}

/** Units that fit now. */
export function remainingOf({ algorithm }: CompiledLimit, params: Params, counted: Counted): number {
  if (algorithm === 'sliding-window') return sliding.remaining(stateOf(counted), params)
  return Math.max((params['quota'] ?? 0) - counted.units, 0)
}

/** µs until another unit is there; 0 when nothing is used. */
export function resetOf(limit: CompiledLimit, params: Params, counted: Counted): number {
  if (limit.algorithm === 'sliding-window') {
    return Math.max(sliding.wait(stateOf(counted), remainingOf(limit, params, counted) + 1, params), 0)
  }
  return counted.units <= 0 ? 0 : counted.endUs - counted.nowUs
}

function stateOf({ units, previous, endUs, nowUs }: Counted): object {
  state.currentNow = units
  state.previousNow = previous
  state.leftNow = endUs - nowUs
  return state
}
