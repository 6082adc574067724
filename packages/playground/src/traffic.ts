// When requests arrive. Every pattern is written in one notation, so that each can be changed by hand:
//   100 at 59s                  a burst
//   300 from 10s to 20s         spread evenly
//   300 random from 0s to 2min  at random, the same for the same seed
import { readTime, timeText } from './time.ts'

export const PATTERNS = {
  seam: 'Bursts at the seam',
  steady: 'Steady',
  random: 'Random',
  flood: 'One flood',
  own: 'My own',
} as const
export type Pattern = keyof typeof PATTERNS

/** The most requests of a scene: more would make the page slow. */
export const MOST_REQUESTS = 40_000

/** Links can hold any text. */
const MOST_CHARACTERS = 20_000

/** A mistake in what was typed. The message says what would be right. */
export class TrafficError extends Error {}

interface Group {
  readonly count: number
  readonly fromMs: number
  readonly toMs: number
  readonly isRandom: boolean
}

export interface LimitShape {
  readonly quota: number
  readonly windowMs: number
}

/** A pattern in the notation, for a limit. Each lasts for two and a half windows. */
export function patternText(pattern: Exclude<Pattern, 'own'>, { quota, windowMs }: LimitShape): string {
  const at = (share: number): string => timeText(Math.round(windowMs * share))
  const units = (share: number): number => Math.max(Math.round(quota * share), 1)
  switch (pattern) {
    case 'seam':
      return `1 at 0s, ${quota} at ${at(59 / 60)}, ${quota} at ${at(61 / 60)}`
    case 'steady':
      return `${units(3.75)} from 0s to ${at(2.5)}`
    case 'random':
      return `${units(3.75)} random from 0s to ${at(2.5)}`
    case 'flood':
      return `${units(1)} from 0s to ${at(2.5)}, ${units(5)} from ${at(0.75)} to ${at(1.25)}`
  }
}

/**
 * The times at which requests arrive, in ms, in order.
 *
 * @throws {TrafficError} when the text is no traffic, or too much of it
 */
export function arrivalsOf(text: string, seed: number): number[] {
  if (text.length > MOST_CHARACTERS) {
    const expected = 'Put requests together, such as: 300 from 10s to 20s'
    throw new TrafficError(
      `Traffic has at most ${MOST_CHARACTERS} characters, and this has ${text.length}. ${expected}`,
    )
  }
  const groups = text
    .split(/[,\n]/)
    .filter((part) => part.trim() !== '')
    .map(groupOf)
  const count = groups.reduce((sum, group) => sum + group.count, 0)
  if (count === 0) throw new TrafficError('Type when requests arrive, such as: 100 at 59s')
  if (count > MOST_REQUESTS) {
    throw new TrafficError(
      `A scene has at most ${MOST_REQUESTS} requests, and this is ${count}. Take a smaller limit.`,
    )
  }
  const random = randomFrom(seed)
  return groups.flatMap((group) => timesOf(group, random)).sort((a, b) => a - b)
}

// For a text with single spaces: a time is `59s` or `1.5 min`, so nothing can be read in two ways, and slowly.
const GROUP = /^(\d+) (?:at (\S+(?: \S+)?)|(random )?from (\S+(?: \S+)?) to (\S+(?: \S+)?))$/

function groupOf(given: string): Group {
  const text = given.split(/\s+/).filter(Boolean).join(' ')
  const [, count, at, random, from, to] = GROUP.exec(text) ?? []
  const fromMs = readTime(at ?? from ?? '')
  const toMs = readTime(at ?? to ?? '')
  if (count === undefined || fromMs === undefined || toMs === undefined || toMs < fromMs) {
    throw new TrafficError(
      `“${text.length > 60 ? `${text.slice(0, 60)}…` : text}” is no traffic. Type for example: 100 at 59s, or 300 from 10s to 20s`,
    )
  }
  return { count: Number(count), fromMs, toMs, isRandom: random !== undefined }
}

function timesOf({ count, fromMs, toMs, isRandom }: Group, random: () => number): number[] {
  const share = (i: number): number => (isRandom ? random() : i / count)
  return Array.from({ length: count }, (_, i) => Math.floor(fromMs + share(i) * (toMs - fromMs)))
}

/** Pseudo-random numbers from 0 to just below 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
