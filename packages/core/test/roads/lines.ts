import { capacityOf, counterName, HOUR_MS, type LimitSpec } from './limits.js'
import type { Ask, Plans, Schedule, Who } from './schedule.js'

/** One limit of a request: the key of its counter, its name in the decision, and its subject. */
export interface Line {
  readonly key: string
  readonly name: string
  readonly spec: LimitSpec
  /** Index of its subject in the request. */
  readonly owner: number
  /** Index of its key in the request. */
  readonly part: number
  /** The process that asks, which tells how many requests it has in flight; undefined for a look. */
  readonly asker: number | undefined
}

/** Which keys of a request are decided in one step: all, those of one subject (at least), or each by itself. */
export type Grouping = 'all' | 'subjects' | 'keys'

/** A limit that never denies. A peek with it and stacked limits shows where the stacked limits stand. */
export const NO_LIMIT: LimitSpec = { kind: 'log', quota: 1e6, windowMs: HOUR_MS, burst: 1 }

const SUFFIXES = { app: '', stacked: '', group: '*g', both: '*g', own: '*h', top: '*top' } as const

/** The limits of a request, in the order in which its decision lists them. */
export function linesOf(
  { place, who, process }: Ask,
  plans: Plans,
  { own, stacked }: Pick<Schedule, 'own' | 'stacked'>,
): Line[] {
  const namer = new Namer()
  const partOf = (specs: readonly LimitSpec[], where: Omit<Part, 'specs'>): Line[] =>
    flightLast(specs).map(({ spec, i }) => ({
      key: JSON.stringify([where.one.kind, where.one.id, where.suffix, counterName(spec)]),
      name: namer.name(where.label, i),
      spec,
      owner: where.owner,
      part: where.part,
      asker: process,
    }))
  const lines = who.flatMap((one, owner) => {
    const { specs, label } = planOf(one, place, plans, own)
    const suffix = SUFFIXES[place]
    return partOf(specs, { one, owner, suffix, part: owner, label: owner === 0 ? undefined : label })
  })
  if (place !== 'stacked' && place !== 'both' && place !== 'top') return lines
  const onTop = { one: who[0] as Who, owner: 0, suffix: '!s', part: who.length, label: 's' }
  return [...lines, ...partOf(stacked, onTop)]
}

/** With their index in the plan. Decisions list the limit of requests in flight behind the others. */
function flightLast(specs: readonly LimitSpec[]): { spec: LimitSpec; i: number }[] {
  const all = specs.map((spec, i) => ({ spec, i }))
  return [...all.filter(({ spec }) => !isFlight(spec)), ...all.filter(({ spec }) => isFlight(spec))]
}

/** How many units of a limit a request takes: of requests in flight one, whatever it costs. */
export function needOf({ spec }: Line, cost: number): number {
  return isFlight(spec) ? 1 : cost
}

export function isFlight({ kind }: LimitSpec): boolean {
  return kind === 'flight'
}

interface Part {
  readonly one: Who
  readonly owner: number
  readonly part: number
  readonly suffix: string
  readonly label: string | undefined
  readonly specs: readonly LimitSpec[]
}

function planOf(
  { plan, bringsLimits }: Who,
  place: Ask['place'],
  plans: Plans,
  own: readonly LimitSpec[],
): { specs: readonly LimitSpec[]; label: string } {
  if (place === 'own') return { specs: own, label: 'h' }
  if (place === 'top') return { specs: [NO_LIMIT], label: 'top' }
  return { specs: plans[plan] as readonly LimitSpec[], label: bringsLimits ? 'own-limits' : plan }
}

/** Names limits as decisions do: `l0` for the first subject, `pro.l0` for others, `pro.l0-2` if the name is taken. */
class Namer {
  readonly #taken = new Set<string>()

  name(label: string | undefined, i: number): string {
    const wanted = label === undefined ? `l${i}` : `${label}.l${i}`
    let name = wanted
    for (let n = 2; this.#taken.has(name); n += 1) name = `${wanted}-${n}`
    this.#taken.add(name)
    return name
  }
}

/** Splits limits into groups; the limits of a group are decided in one step. */
export function groupsOf(lines: readonly Line[], by: Grouping): Line[][] {
  const groups = new Map<number, Line[]>()
  for (const line of lines) {
    const group = { all: 0, subjects: line.owner, keys: line.part }[by]
    groups.set(group, [...(groups.get(group) ?? []), line])
  }
  return [...groups.values()]
}

/** Whether a step with some limits is asked before one with others: first come requests in flight, then the narrowest. */
export function isAskedBefore(some: readonly Line[], others: readonly Line[]): boolean {
  const [takes, doOthers] = [some, others].map((lines) => lines.some(({ spec }) => isFlight(spec)))
  return takes === doOthers ? narrowestOf(some) < narrowestOf(others) : takes === true
}

/** The most units that a request can take from some limits; 0 if they count requests in flight only, of which it takes none. */
function narrowestOf(lines: readonly Line[]): number {
  const counted = lines.filter(({ spec }) => !isFlight(spec))
  return counted.length > 0 ? Math.min(...counted.map(({ spec }) => capacityOf(spec))) : 0
}
