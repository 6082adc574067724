// Plays a scene: who is admitted by whom, and the busiest window of each limiter so far.
import { expressRateLimit, fixedWindows, Tollgate, type Admits, type Algorithm } from './limiters.ts'
import type { LimitShape } from './traffic.ts'

/** The most that was admitted in any window of the limit's length, and the last such window's end. */
export interface Worst {
  readonly admitted: number
  readonly fromMs: number
  readonly toMs: number
}

/** One limiter in a scene. */
export interface Lane {
  readonly name: 'tollgate' | 'fixed' | 'express'
  /** By request. */
  readonly admitted: readonly boolean[]
  /** By request: the busiest window until then. */
  readonly worst: readonly Worst[]
}

export interface Run {
  readonly limits: readonly string[]
  readonly algorithm: Algorithm
  /** What counts the watched limit. */
  readonly countedBy: Algorithm
  readonly shapes: readonly LimitShape[]
  /** The limit whose windows are shown: the first. */
  readonly watched: LimitShape
  readonly arrivals: readonly number[]
  /** When the last request arrives. */
  readonly lastMs: number
  /** How long the scene is, in ms. */
  readonly lengthMs: number
  readonly lanes: readonly Lane[]
}

/** How a lane stands at a time. */
export interface Standing {
  readonly asked: number
  readonly admitted: number
  readonly denied: number
  readonly worst: Worst
}

/** @throws {ConfigError} when a limit is wrong */
export function play(
  limits: readonly string[],
  algorithm: Algorithm,
  trafficFor: (shape: LimitShape) => number[],
): Run {
  const tollgate = new Tollgate(limits, algorithm)
  const { shapes, countedBy } = tollgate
  const watched = shapes[0] as LimitShape
  const arrivals = trafficFor(watched)
  const lane = (name: Lane['name'], admits: Admits): Lane => {
    const admitted = arrivals.map((at) => admits(at))
    return { name, admitted, worst: worstOf(arrivals, admitted, watched.windowMs) }
  }
  const lastMs = arrivals.at(-1) ?? 0
  return {
    ...{ limits, algorithm, countedBy, shapes, watched, arrivals, lastMs },
    lengthMs: Math.max(2 * watched.windowMs, lastMs + watched.windowMs / 10),
    lanes: [
      lane('fixed', fixedWindows(shapes)),
      lane('express', expressRateLimit(shapes)),
      lane('tollgate', tollgate.admits),
    ],
  }
}

const NONE: Worst = { admitted: 0, fromMs: 0, toMs: 0 }

/**
 * The busiest window until each request. A window begins just after its first moment: requests exactly one window apart are not
 * in the same one.
 */
export function worstOf(
  arrivals: readonly number[],
  admitted: readonly boolean[],
  windowMs: number,
): Worst[] {
  const times: number[] = []
  let [first, worst] = [0, NONE]
  return arrivals.map((at, i) => {
    if (!admitted[i]) return worst
    times.push(at)
    while ((times[first] as number) <= at - windowMs) first += 1
    const count = times.length - first
    if (count > worst.admitted) worst = { admitted: count, fromMs: times[first] as number, toMs: at }
    return worst
  })
}

/** How many requests have arrived until a time, that moment included. */
export function arrivedBy(arrivals: readonly number[], atMs: number): number {
  let [low, high] = [0, arrivals.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((arrivals[middle] as number) <= atMs) low = middle + 1
    else high = middle
  }
  return low
}

export function standingAt({ arrivals }: Run, { admitted, worst }: Lane, atMs: number): Standing {
  const asked = arrivedBy(arrivals, atMs)
  const passed = admitted.slice(0, asked).filter(Boolean).length
  return { asked, admitted: passed, denied: asked - passed, worst: worst[asked - 1] ?? NONE }
}

/** What Tollgate would answer to a client's next request at a time, after all requests until then. */
export function nextAnswer(
  { limits, algorithm, arrivals }: Run,
  atMs: number,
): ReturnType<Tollgate['answer']> {
  const tollgate = new Tollgate(limits, algorithm)
  const asked = arrivedBy(arrivals, atMs)
  for (const at of arrivals.slice(0, asked)) tollgate.admits(at)
  return tollgate.answer(atMs)
}
