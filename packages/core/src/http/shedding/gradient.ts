/**
 * How many requests this process should have in flight: Gradient2 of Netflix's concurrency-limits. It compares the current
 * latency with that of the last minute. While they are alike, the limit grows by its square root, which is the queue that
 * it allows. When the current latency is longer, the limit shrinks in proportion, by at most a half.
 *
 * Three things differ, since a limit that is too low refuses requests needlessly:
 * - There is no limit until there is a queue. It starts at the number of requests in flight then, and ends when nothing was
 *   refused for a while.
 * - It takes several slow windows in a row to make a queue.
 * - A late event loop is a certain sign, so then one window is enough. Its latency does not count as normal.
 *
 * @see https://github.com/Netflix/concurrency-limits
 */
export interface Gradient {
  /** The most requests in flight; Infinity while there is no limit. */
  readonly limit: number
  /** The latency of the last minute, in ms; 0 before the first window. */
  readonly longMs: number
  /** How many windows in a row were longer than the last minute. */
  readonly slow: number
  /** How many windows in a row had no queue and no refused request. */
  readonly calm: number
}

/** What was measured in one window. */
export interface Window {
  /** The median latency, in ms. Not the mean: a few streams among short requests would move it. */
  readonly medianMs: number
  /** The most requests in flight at one time. */
  readonly inFlight: number
  /** How late the event loop was for a request, on average, in ms; 0 unless a queue stands. */
  readonly lateMs: number
  /** Whether a request was refused. */
  readonly hasRefused: boolean
}

/** Latency alone never brings the limit below this: so few requests do not overload a process. */
export const FLOOR = 20
/** While the event loop is late, the limit can go down to this. */
export const LATE_FLOOR = 4
/** The event loop is late when events wait this long, in ms. */
export const LATE_MS = 25

const TOLERANCE = 2
const SMOOTHING = 0.2
/** Windows are a tenth of a second long: the long latency is that of a minute. */
const LONG_WINDOWS = 600
const SLOW_WINDOWS = 5
const CALM_WINDOWS = 10
/** The long latency is multiplied by this in each window in which it is more than twice the current one. */
const COMING_DOWN = 0.95

export const AT_REST: Gradient = { limit: Infinity, longMs: 0, slow: 0, calm: 0 }

/** The limit after one more window. */
export function afterWindow(before: Gradient, window: Window): Gradient {
  const isLate = window.lateMs > LATE_MS
  const longMs = longAfter(before.longMs, window.medianMs, isLate)
  const slope = slopeOf(longMs, window)
  const slow = slope < 1 ? before.slow + 1 : 0
  const calm = slope < 1 || window.hasRefused ? 0 : before.calm + 1
  return { limit: limitAfter({ ...before, slow, calm }, slope, isLate, window.inFlight), longMs, slow, calm }
}

function longAfter(longMs: number, medianMs: number, isLate: boolean): number {
  if (isLate) return longMs
  if (longMs === 0) return medianMs
  const next = longMs + (medianMs - longMs) / LONG_WINDOWS
  return next > 2 * medianMs ? next * COMING_DOWN : next
}

/** 1 without a queue; otherwise the share of the requests in flight that are being worked on, at least a half. */
function slopeOf(longMs: number, { medianMs, lateMs }: Window): number {
  const ofLatency = longMs > 0 && medianMs > 0 ? (TOLERANCE * longMs) / medianMs : 1
  const ofLoop = lateMs > LATE_MS ? LATE_MS / lateMs : 1
  return Math.max(0.5, Math.min(1, ofLatency, ofLoop))
}

function limitAfter(
  { limit, slow, calm }: Gradient,
  slope: number,
  isLate: boolean,
  inFlight: number,
): number {
  if (calm >= CALM_WINDOWS) return Infinity
  const floor = isLate ? LATE_FLOOR : FLOOR
  if (limit === Infinity) {
    const isQueue = isLate ? slow > 0 : slow >= SLOW_WINDOWS
    return isQueue && inFlight > floor ? nextLimit(inFlight, slope, isLate) : limit
  }
  // With so few in flight, the limit holds no request back, and their latency says nothing about it.
  return inFlight < limit / 2 ? limit : nextLimit(limit, slope, isLate)
}

/** Moves slowly, since latencies also vary without a cause; at once while the event loop is late. */
function nextLimit(limit: number, slope: number, isLate: boolean): number {
  const smoothing = isLate ? 1 : SMOOTHING
  const next = limit * (1 - smoothing) + (limit * slope + Math.sqrt(limit)) * smoothing
  // A limit may be below the floor already: it shrank while the event loop was late, and grows slowly from there.
  const floor = isLate || limit < FLOOR ? LATE_FLOOR : FLOOR
  return Math.max(floor, next)
}
