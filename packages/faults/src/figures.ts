import type { BreakerChange, Case, Entry, Exit, Report } from './application.ts'
import type { Fault } from './faults/scene.ts'
import type { Answer } from './load.ts'
import { CONTROL, CONTROLS, GOOD, WAITING } from './settings.ts'
import { planOf, tenantsOf } from './stores/store.ts'
import { mostInAnyWindow } from './windows.ts'

/** All observations of one run; times in ms of the clock that all processes share. */
export interface Run extends Omit<Case, 'fault'> {
  readonly fault: Omit<Fault, 'prepare'>
  readonly beganAt: number
  /** When the store was back; undefined if it never was. */
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
  /** The number of answers by status, over the whole run; status 0 is no answer. */
  readonly byStatus: Readonly<Record<number, number>>
  /** Times of requests that came during the fault while the store was still asked, by the application's clock. */
  readonly before: Times
  /**
   * Times of requests that the store did not decide while the breaker was open. Without a breaker: of those that came
   * later than 1 s after the fault began.
   */
  readonly open: Times
  /** Times of requests that came before or after the fault. */
  readonly rest: Times
  /**
   * The 99th percentile, in the same segments, for requests that are not limited. It shows how much of the times above
   * the machine itself causes. `before` and `rest`: requests that wait for a timer of one deadline. `open`: requests
   * answered at once.
   */
  readonly control: { readonly before: number; readonly open: number; readonly rest: number }
  /** Times that clients saw during the fault. */
  readonly client: Times
  readonly breakerOpened: boolean
  /**
   * How long after its return the store took until it had decided for each good tenant, in ms; undefined if it never
   * did.
   */
  readonly backMs: number | undefined
  /** Of all decisions for good tenants after that time, the share that the store made, 0 to 1. */
  readonly storeShare: number
  /** The most units admitted in any window, by tenant. */
  readonly most: Readonly<Record<string, Most>>
}

/** The most units admitted to a tenant in any one window, as long as the store's bound holds for. */
export interface Most {
  /** Allowed by any source, in any window. */
  readonly ever: number
  /** Allowed by the store or a lease, in windows wholly before or wholly after the fault. */
  readonly outside: number
  /** Allowed by the store or a lease, in any window of the whole run. */
  readonly byStore: number
  /** Allowed by the failure policy `local`, in any window of the whole run. */
  readonly byLocal: number
}

/** Control requests this long before and after a segment, in ms, count for the segment, too. */
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
    most: Object.fromEntries(tenantsOf(run.store).map((who) => [who, mostOf(run, who, backAt ?? Infinity)])),
  }
}

/**
 * The time spans in which the breaker was open: from each opening during the fault until it closed, perhaps before the
 * fault ended.
 */
function openSpansOf(run: Run): Span[] {
  const { report, beganAt, returnedAt = Infinity, hasBreaker, fault } = run
  if (!hasBreaker) return [[beganAt + 1000, returnedAt]]
  const first = firstOpening(run)
  if (!first) return []
  // The breakers of a cluster's shards open and close separately.
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

function mostOf({ store, report, beganAt }: Run, who: string, backAt: number): Most {
  const letIn = report.entries
    .filter((entry) => entry.who === who && entry.status === 200)
    .map(({ at, ms, source }) => ({ from: at, to: at + ms, source }))
  const of = (...sources: string[]): typeof letIn => letIn.filter(({ source }) => sources.includes(source))
  const windowMs = (planOf(store, who)?.windowMs ?? 0) - store.clocksPartMs
  const most = (some: typeof letIn): number => mostInAnyWindow(some, windowMs)
  // Units on lease were taken from the store.
  const byStore = of('store', 'lease')
  return {
    ever: most(letIn),
    outside: Math.max(
      most(byStore.filter(({ to }) => to < beganAt)),
      most(byStore.filter(({ from }) => from >= backAt)),
    ),
    byStore: most(byStore),
    byLocal: most(of('local')),
  }
}

function within(entries: readonly Entry[], [from, to]: Span): Entry[] {
  return entries.filter(({ at }) => at >= from && at < to)
}

/** Requests in a segment and around it. A short segment alone may have too few to show how busy the machine is. */
function around(entries: readonly Entry[], [from, to]: Span): Entry[] {
  return within(entries, [from - NOISE_AROUND_MS, to + NOISE_AROUND_MS])
}

/** Percentiles by nearest rank; zeros without values. */
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
