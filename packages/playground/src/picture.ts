// The geometry of a lane: bars of requests by time, in a box of WIDTH x HEIGHT.
import { arrivedBy, type Lane, type Run, type Worst } from './run.ts'

export const WIDTH = 1000
export const HEIGHT = 100

const BARS = 60
const GAP = 2
/** A single request must be seen beside a burst of hundreds. */
const LEAST = 4

/** Where a time lies. */
export function xOf({ lengthMs }: Run, atMs: number): number {
  return (atMs / lengthMs) * WIDTH
}

/** The most requests that one bar of this run has. */
export function tallestOf(run: Run): number {
  const counts = new Map<number, number>()
  for (const at of run.arrivals) counts.set(barOf(run, at), (counts.get(barOf(run, at)) ?? 0) + 1)
  return Math.max(1, ...counts.values())
}

/** The bars of what was let in and, on top of it, denied until a time, as paths. */
export function barsOf(
  run: Run,
  lane: Lane,
  atMs: number,
  tallest: number,
): { admitted: string; denied: string } {
  const counts = Array.from({ length: BARS }, () => ({ admitted: 0, denied: 0 }))
  const asked = arrivedBy(run.arrivals, atMs)
  for (let i = 0; i < asked; i += 1) {
    const bar = counts[barOf(run, run.arrivals[i] as number)]
    if (bar) bar[lane.admitted[i] ? 'admitted' : 'denied'] += 1
  }
  const paths = { admitted: '', denied: '' }
  counts.forEach(({ admitted, denied }, i) => {
    const [low, high] = [heightOf(admitted, tallest), heightOf(denied, tallest)]
    if (admitted > 0) paths.admitted += box(i, HEIGHT - low, low)
    if (denied > 0) paths.denied += box(i, Math.max(HEIGHT - low - high, 0), high)
  })
  return paths
}

function barOf({ lengthMs }: Run, atMs: number): number {
  return Math.min(Math.floor((atMs / lengthMs) * BARS), BARS - 1)
}

function heightOf(count: number, tallest: number): number {
  return count === 0 ? 0 : LEAST + (count / tallest) * (HEIGHT - 2 * LEAST)
}

function box(bar: number, top: number, height: number): string {
  const width = WIDTH / BARS
  return `M${round(bar * width + GAP / 2)} ${round(top)}h${round(width - GAP)}v${round(height)}h-${round(width - GAP)}z`
}

const round = (x: number): number => Math.round(x * 100) / 100

/** The band of the busiest window: as long as the window, with its requests in the middle. */
export function bandOf(run: Run, { admitted, fromMs, toMs }: Worst): { x: number; width: number } {
  if (admitted === 0) return { x: 0, width: 0 }
  const { windowMs } = run.watched
  const begin = Math.max((fromMs + toMs) / 2 - windowMs / 2, 0)
  return { x: xOf(run, begin), width: Math.min(xOf(run, windowMs), WIDTH - xOf(run, begin)) }
}

/** The ends of windows by the clock, for the axis. */
export function seamsOf({ lengthMs, watched }: Run): number[] {
  const count = Math.floor(lengthMs / watched.windowMs)
  const every = Math.ceil(count / 6)
  return Array.from({ length: Math.floor(count / every) + 1 }, (_, i) => i * every * watched.windowMs)
}
