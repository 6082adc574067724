import type { BreakerChange, Entry, Exit, Report } from './application.ts'
import type { Fault } from './faults.ts'
import type { Answer } from './load.ts'
import {
  CONTROL,
  CONTROLS,
  GOOD,
  TENANTS,
  WAITING,
  WINDOW_MS,
  type Framework,
  type Policy,
} from './settings.ts'
import { mostInAnyWindow } from './windows.ts'

/** All that was seen of one run; times in ms since 1970. */
export interface Run {
  readonly framework: Framework
  readonly policy: Policy
  readonly fault: Pick<Fault, 'name' | 'forgets' | 'fromStart' | 'isForGood' | 'isPartial'>
  readonly beganAt: number
  /** When the store was back; undefined when it never was. */
  readonly returnedAt: number | undefined
  readonly hasBreaker: boolean
  readonly answers: readonly Answer[]
  readonly report: Report
  readonly exit: Exit
}

export interface Times {
  readonly count: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

export interface Figures {
  /** How many answers of each status, of the whole run; 0 is none. */
  readonly byStatus: Readonly<Record<number, number>>
  /** Of requests that came while calls still went to a store that failed, by the application's clock. */
  readonly before: Times
  /** Of those that the store did not decide once the breaker was open, or a second into the fault where there is none. */
  readonly open: Times
  /** Of those that came before the fault or after it. */
  readonly rest: Times
  /** At p99, the same of what is not limited: what this machine takes for an answer that waits for a timer, or not. */
  readonly control: { readonly before: number; readonly open: number; readonly rest: number }
  /** What clients saw during the fault. */
  readonly client: Times
  readonly breakerOpened: boolean
  /** From the store's return until it has decided for each good tenant; undefined when it has not. */
  readonly backMs: number | undefined
  /** Of what was decided for good tenants after that, the share that the store decided. */
  readonly storeShare: number
  /** By tenant: the most in any window. */
  readonly most: Readonly<Record<string, Most>>
}

export interface Most {
  /** Let in by whatever, in windows that touch the fault or not. */
  readonly ever: number
  /** In windows wholly before the fault or wholly after it, by the store. */
  readonly outside: number
  readonly byStore: number
  readonly byLocal: number
}

/** How long before and after a segment the machine counts as being as busy as in it. */
const NOISE_AROUND_MS = 200

type Span = readonly [from: number, to: number]

export function figuresOf(run: Run): Figures {
  const { entries } = run.report
  const overAt = run.returnedAt ?? Infinity
  const openedAt = openedAtOf(run)
  const segments = { before: [run.beganAt, Math.min(openedAt, overAt)], open: [openedAt, overAt] } as const
  const isRest = ({ at }: Entry): boolean => at < run.beganAt || at >= overAt
  const limited = entries.filter(({ who }) => !CONTROLS.includes(who))
  const waiting = entries.filter(({ who }) => who === WAITING)
  const control = entries.filter(({ who }) => who === CONTROL)
  const backAt = backAtOf(run)
  return {
    byStatus: countBy(run.answers.map(({ status }) => status)),
    before: times([...within(limited, segments.before), ...within(limited, segments.open).filter(isByStore)]),
    open: times(within(limited, segments.open).filter((entry) => !isByStore(entry))),
    rest: times(limited.filter(isRest)),
    control: {
      before: times(around(waiting, segments.before)).p99,
      open: times(around(control, segments.open)).p99,
      rest: times(waiting.filter(isRest)).p99,
    },
    client: times(run.answers.filter(({ sentAt }) => sentAt >= run.beganAt && sentAt < overAt)),
    breakerOpened: firstOpening(run) !== undefined,
    backMs: run.returnedAt === undefined || backAt === undefined ? undefined : backAt - run.returnedAt,
    storeShare: storeShareOf(limited, backAt ?? Infinity),
    most: Object.fromEntries(Object.keys(TENANTS).map((who) => [who, mostOf(run, who, backAt ?? Infinity)])),
  }
}

/** After a failover the store decides again before the fault is over: that waits for it, as before. */
function isByStore({ source }: Entry): boolean {
  return source === 'store'
}

function openedAtOf(run: Run): number {
  if (!run.hasBreaker) return run.beganAt + 1000
  return firstOpening(run)?.at ?? Infinity
}

function firstOpening({ report, beganAt, returnedAt = Infinity }: Run): BreakerChange | undefined {
  return report.breaker.find(({ state, at }) => state === 'open' && at >= beganAt && at < returnedAt)
}

function backAtOf({ report, returnedAt }: Run): number | undefined {
  if (returnedAt === undefined) return undefined
  const first = GOOD.map((who) => {
    const entry = report.entries.find(
      (each) => each.who === who && each.source === 'store' && each.at >= returnedAt,
    )
    return entry ? entry.at + entry.ms : undefined
  })
  return first.includes(undefined) ? undefined : Math.max(...(first as number[]))
}

function storeShareOf(entries: readonly Entry[], backAt: number): number {
  const later = entries.filter(({ who, at }) => at > backAt && GOOD.includes(who))
  return later.length === 0 ? 0 : later.filter(({ source }) => source === 'store').length / later.length
}

function mostOf({ report, beganAt }: Run, who: string, backAt: number): Most {
  const letIn = report.entries
    .filter((entry) => entry.who === who && entry.status === 200)
    .map(({ at, ms, source }) => ({ from: at, to: at + ms, source }))
  const of = (source: string): typeof letIn => letIn.filter((each) => each.source === source)
  const byStore = of('store')
  return {
    ever: mostInAnyWindow(letIn, WINDOW_MS),
    outside: Math.max(
      mostInAnyWindow(
        byStore.filter(({ to }) => to < beganAt),
        WINDOW_MS,
      ),
      mostInAnyWindow(
        byStore.filter(({ from }) => from >= backAt),
        WINDOW_MS,
      ),
    ),
    byStore: mostInAnyWindow(byStore, WINDOW_MS),
    byLocal: mostInAnyWindow(of('local'), WINDOW_MS),
  }
}

function within(entries: readonly Entry[], [from, to]: Span): Entry[] {
  return entries.filter(({ at }) => at >= from && at < to)
}

/** A segment can be too short to tell anything of the machine. */
function around(entries: readonly Entry[], [from, to]: Span): Entry[] {
  return within(entries, [from - NOISE_AROUND_MS, to + NOISE_AROUND_MS])
}

/** Nearest rank; zeros where nothing was measured. */
export function times(measured: readonly { readonly ms: number }[]): Times {
  const sorted = measured.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0
  return { count: sorted.length, p50: rank(0.5), p99: rank(0.99), max: rank(1) }
}

function countBy(values: readonly number[]): Record<number, number> {
  const counts: Record<number, number> = {}
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1
  return counts
}
