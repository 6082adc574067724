import type { Booked, Entry } from '../src/application.ts'
import type { Run } from '../src/figures.ts'
import type { Answer } from '../src/load.ts'
import { CONTROL, CONTROLS, FLOODING, GOOD, LEASED, WAITING } from '../src/settings.ts'
import { REDIS } from '../src/stores/redis.ts'

// A good run: 1 s before the fault, 2 s of it, 2 s after it.
export const BEGAN = 1_000_000
export const OPENED = BEGAN + 200
export const RETURNED = BEGAN + 2000
export const END = RETURNED + 2000

export const every = (ms: number, from: number, to: number): number[] =>
  Array.from({ length: Math.floor((to - from) / ms) }, (_, i) => from + i * ms)

export const entry = (who: string, at: number, more: Partial<Entry> = {}): Entry => ({
  who,
  at,
  ms: 1,
  status: 200,
  source: CONTROLS.includes(who) ? '' : 'store',
  ...more,
})

export function goodEntry(who: string, at: number): Entry {
  if (at < BEGAN || at >= RETURNED) return entry(who, at)
  return entry(who, at, { source: 'open', ms: at < OPENED ? 100 : 0.5 })
}

export const wellEntries: Entry[] = [
  ...GOOD.flatMap((who) => every(20, BEGAN - 1000, END).map((at) => goodEntry(who, at))),
  ...every(20, BEGAN - 1000, END).map((at) => entry(CONTROL, at, { ms: 0.2 })),
  ...every(20, BEGAN - 1000, END).map((at) => entry(WAITING, at, { ms: 101 })),
  ...every(20, BEGAN - 1000, BEGAN).map((at) => entry(FLOODING, at)),
  ...every(5, BEGAN, RETURNED).map((at) =>
    entry(FLOODING, at, { source: 'open', ms: at < OPENED ? 100 : 0.5 }),
  ),
  ...every(20, RETURNED, END).map((at) => entry(FLOODING, at)),
  ...every(20, BEGAN - 1000, BEGAN).map((at) => entry(LEASED, at, { source: 'lease', ms: 0.2 })),
]
export const answersOf = (entries: readonly Entry[]): Answer[] =>
  entries.map(({ who, at, ms, status }) => ({ who, sentAt: at, ms: ms + 1, status }))

const BOOKED: Booked = { sent: 20, answered: 19, countedAgain: 0, units: 100 }

export interface Change extends Partial<Omit<Run, 'report'>> {
  readonly entries?: readonly Entry[]
  readonly breaker?: Run['report']['breaker']
  readonly evicted?: number
  readonly booked?: Partial<Booked>
}

export function runWith({ entries = wellEntries, breaker, evicted = 0, booked, ...rest }: Change = {}): Run {
  return {
    store: REDIS,
    framework: 'express',
    policy: 'open',
    fault: { name: 'hangs' },
    beganAt: BEGAN,
    returnedAt: RETURNED,
    hasBreaker: true,
    answers: answersOf(entries),
    report: {
      entries,
      breaker: breaker ?? [{ at: OPENED, state: 'open' }],
      storeErrors: {},
      evicted,
      booked: { ...BOOKED, ...booked },
    },
    exit: { code: 0, signal: null, isByItself: true, stderr: '' },
    ...rest,
  }
}
