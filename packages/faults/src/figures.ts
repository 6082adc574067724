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
  /** Of requests that came in the fault while the store was asked, by the application's clock. */
  readonly before: Times
  /** Of those that the store did not decide while the breaker was open, or a second into the fault where there is none. */
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
  const inFault: Span = [run.beganAt, overAt]
  const open = openSpansOf(run)
  const isOpen = ({ at }: Entry): boolean => open.some(([from, to]) => at >= from && at < to)
  const isRest = ({ at }: Entry): boolean => at < run.beganAt || at >= overAt
  const limited = entries.filter(({ who }) => !CONTROLS.includes(who))
  const waiting = entries.filter(({ who }) => who === WAITING)
  const control = entries.filter(({ who }) => who === CONTROL)
  const backAt = backAtOf(run)
  return {
    byStatus: countBy(run.answers.map(({ status }) => status)),
    before: times(within(limited, inFault).filter((entry) => !isOpen(entry))),
    open: times(within(limited, inFault).filter((entry) => isOpen(entry) && entry.source !== 'store')),
    rest: times(limited.filter(isRest)),
    control: {
      before: times(around(waiting, [run.beganAt, Math.min(open[0]?.[0] ?? Infinity, overAt)])).p99,
      open: times(open.flatMap((span) => around(control, span))).p99,
      rest: times(waiting.filter(isRest)).p99,
    },
    client: times(run.answers.filter(({ sentAt }) => sentAt >= run.beganAt && sentAt < overAt)),
    breakerOpened: firstOpening(run) !== undefined,
    backMs: run.returnedAt === undefined || backAt === undefined ? undefined : backAt - run.returnedAt,
    storeShare: storeShareOf(limited, backAt ?? Infinity),
    most: Object.fromEntries(Object.keys(TENANTS).map((who) => [who, mostOf(run, who, backAt ?? Infinity)])),
  }
}

/** From each opening of the breaker in the fault until the store decides again, which may be before the fault is over. */
function openSpansOf(run: Run): Span[] {
  const { report, beganAt, returnedAt = Infinity, hasBreaker, fault } = run
  if (!hasBreaker) return [[beganAt + 1000, returnedAt]]
  const first = firstOpening(run)
  if (!first) return []
  // Parts of a cluster open and close each for itself.
  if (fault.isPartial) return [[first.at, returnedAt]]
  const changes = report.breaker.filter(
    ({ at, state }) => at >= beganAt && at < returnedAt && state !== 'half-open',
  )
  return changes.flatMap(({ at, state }, i): Span[] =>
    state === 'open'
      ? [[at, changes.slice(i).find((later) => later.state === 'closed')?.at ?? returnedAt]]
      : [],
  )
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
