import { firstOf, type Figures, type Near, type Top } from './figures.js'
import type { Seen } from './top-sketch.js'

/** The version of the text. Texts of another version are left alone. */
const FORMAT = 1
const LEAST_ENTRIES = 5

/** Figures as a process puts them on the board: with as many subjects as fit. */
export function toReportText(figures: Figures, mostCharacters: number): string {
  for (let most = Infinity; ; most = Math.floor(most * 0.7)) {
    const cut = firstOf(figures, most)
    const { busiest, mostDenied, nearest } = cut
    const text = JSON.stringify([
      FORMAT,
      ...[Math.round(figures.coversMs), figures.requests, figures.denied],
      ...[writeTop(busiest), writeTop(mostDenied), nearest.map(writeNear)],
    ])
    if (text.length <= mostCharacters || most <= LEAST_ENTRIES) return text
    if (most === Infinity) most = Math.max(busiest.entries.length, mostDenied.entries.length, nearest.length)
  }
}

/** The figures of a text; undefined if another version wrote it. */
export function readReportText(written: string): Figures | undefined {
  try {
    const [format, coversMs, requests, denied, busiest, mostDenied, nearest] = JSON.parse(written) as Written
    if (format !== FORMAT) return undefined
    return {
      ...{ coversMs: number(coversMs), requests: number(requests), denied: number(denied) },
      ...{ busiest: readTop(busiest), mostDenied: readTop(mostDenied) },
      nearest: nearest.map(readNear),
    }
  } catch {
    return undefined
  }
}

type Written = [number, number, number, number, WrittenTop, WrittenTop, WrittenNear[]]
type WrittenTop = [floor: number, entries: WrittenSeen[]]
/** The subject is left empty where it is the key. */
type WrittenSeen = [key: string, subject: string, plan: string, ...numbers: number[]]
type WrittenNear = [key: string, subject: string, plan: string, limit: string, ...numbers: number[]]

function writeTop({ floor, entries }: Top): WrittenTop {
  return [floor, entries.map(writeSeen)]
}

function readTop([floor, entries]: WrittenTop): Top {
  return { floor: number(floor), entries: entries.map(readSeen) }
}

function writeSeen({ key, subject, plan, count, error, units, denied }: Seen): WrittenSeen {
  return [key, subject === key ? '' : subject, plan, count, error, units, denied]
}

// Thousands are read at once, so each of these makes one object.
function readSeen([key, subject, plan, count, error, units, denied]: WrittenSeen): Seen {
  return {
    key: text(key),
    subject: text(subject) || key,
    plan: text(plan),
    count: number(count),
    error: number(error),
    units: number(units),
    denied: number(denied),
  }
}

function writeNear({ key, subject, plan, limit, share, used, quota }: Near): WrittenNear {
  return [key, subject === key ? '' : subject, plan, limit, Math.round(share * 1e4) / 1e4, used, quota]
}

function readNear([key, subject, plan, limit, share, used, quota]: WrittenNear): Near {
  return {
    key: text(key),
    subject: text(subject) || key,
    plan: text(plan),
    limit: text(limit),
    share: number(share),
    used: number(used),
    quota: number(quota),
  }
}

function text(given: unknown): string {
  if (typeof given !== 'string') throw new TypeError('not a text')
  return given
}

function number(given: unknown): number {
  if (typeof given !== 'number' || !(given >= 0 && given < Infinity)) throw new TypeError('not a count')
  return given
}
