// What the page says about a run at a time.
import { ALGORITHMS } from './limiters.ts'
import { standingAt, type Lane, type Run, type Standing } from './run.ts'
import { lengthInWords, timeText } from './time.ts'
import type { Pattern } from './traffic.ts'

const NAMES: Readonly<Record<Lane['name'], string>> = {
  fixed: 'Fixed window',
  express: 'express-rate-limit',
  tollgate: 'Tollgate',
}

export function nameOf({ name }: Lane): string {
  return NAMES[name]
}

export function hintOf({ countedBy }: Run, { name }: Lane): string {
  if (name === 'fixed') return 'a counter that starts anew with the clock'
  return name === 'express'
    ? 'a window from the client’s first request'
    : `${countedBy}, ${ALGORITHMS[countedBy]}`
}

/** `minute`, `15 minutes`: what stands behind "in any". */
export function windowName({ watched }: Run): string {
  return lengthInWords(watched.windowMs).replace(/^1 (?=[a-z]{3})/, '')
}

/** The window where one is meant: `one minute`, `15 minutes`. */
export function oneWindow(run: Run): string {
  const name = windowName(run)
  return /^\d/.test(name) ? name : `one ${name}`
}

/** How many more than the limit the busiest window has; 0 if none. */
export function overOf({ watched }: Run, { worst }: Standing): number {
  return Math.max(worst.admitted - watched.quota, 0)
}

export function verdictOf(run: Run, standing: Standing): string {
  const over = overOf(run, standing)
  return over > 0 ? `${over} over the limit` : 'within the limit'
}

/** What a client does in a scene. */
export function caption(pattern: Pattern, { watched }: Run): string {
  const burst = watched.quota === 1 ? 'once' : `${watched.quota} times`
  return {
    seam: `A client asks ${burst} just before a window ends, and ${burst} just after`,
    steady: 'A client asks steadily, half as much again as the limit',
    random: 'A client asks at random, half as much again as the limit',
    flood: 'A client asks now and then, and floods in between',
    own: 'A client asks as you typed',
  }[pattern]
}

/** The sentence above the picture, on the whole scene. */
export function headline(run: Run): string {
  const { quota } = run.watched
  const [fixed, express, tollgate] = run.lanes.map((lane) => standingAt(run, lane, Infinity).worst.admitted)
  const others =
    fixed === express ? `the other two ${fixed}` : `a fixed window ${fixed}, express-rate-limit ${express}`
  const rate = `${quota} ${oneWindow(run)
    .replace(/^one/, 'a')
    .replace(/^a hour/, 'an hour')
    .replace(/^\d/, 'in $&')}`
  return `The limit is ${rate}. In the busiest ${windowName(run)}, Tollgate lets ${tollgate} in, ${others}.`
}

/** The state of the picture in words. */
export function summary(run: Run, atMs: number): string {
  const standings = run.lanes.map((lane) => ({ lane, standing: standingAt(run, lane, atMs) }))
  const asked = standings[0]?.standing.asked ?? 0
  if (asked === 0) return `At ${timeText(atMs)}: no requests yet.`
  const each = standings.map(
    ({ lane, standing }) => `${nameOf(lane)} let ${standing.worst.admitted} in, ${verdictOf(run, standing)}`,
  )
  const requests = asked === 1 ? '1 request' : `${asked} requests`
  return `After ${timeText(atMs)} and ${requests}, in the busiest ${windowName(run)}: ${each.join('; ')}.`
}
