import { kernels, type AnyKernel } from '../../algorithms/registry.js'
import type { LimitSet, Params } from '../../plans/limit-set.js'

/** States of limits as of one time, in µs, and when none of them can count any more. */
interface Group {
  readonly last: number
  readonly ends: number
  readonly marks: readonly number[]
  readonly states: readonly object[]
}

/** What a subject has used of the limits of `set`, and of those that other plans have, latest first. */
export interface Entry {
  last: number
  ends: number
  /** When it can be forgotten. */
  expires: number
  set: LimitSet
  states: readonly object[]
  others: readonly Group[]
}

/** For so many other plans it is remembered what a subject used of them. */
const MOST_OTHERS = 8

export function createEntry(set: LimitSet, now: number): Entry {
  return { last: now, ends: 0, expires: 0, set, states: [], others: [] }
}

/** A limit of a subject, brought to now. */
export interface Loaded {
  readonly kernel: AnyKernel
  readonly state: object
  readonly params: Params
  /** Whether the subject has used it before. */
  readonly isKnown: boolean
  /** When it was written, in µs. */
  readonly last: number
}

export function load(entry: Entry, set: LimitSet, now: number): Loaded[] {
  const found = entry.set === set ? undefined : findParts(entry, set)
  return set.limits.map((limit, i) => {
    const kernel = kernels[limit.kernel]
    const params = limit.paramsAt(now / 1000)
    const { state, last } = found?.[i] ?? { state: entry.states[i], last: entry.last }
    const loaded = { kernel, state: state ?? kernel.create(), params, isKnown: state !== undefined, last }
    kernel.load(loaded.state, last, now, params)
    return loaded
  })
}

interface Part {
  readonly state: object | undefined
  readonly last: number
}

/** What the limits of another set find under their marks, looked for in the order that the script for Redis does. */
function findParts(entry: Entry, set: LimitSet): Part[] {
  const groups = groupsOf(entry)
  const taken = new Set<object>()
  let next = 0
  return marksOf(set).map((mark) => {
    const isNext = groups[0]?.marks[next] === mark
    const group = isNext ? groups[0] : groups.find(({ marks }) => marks.includes(mark))
    const state = group?.states[isNext ? next : group.marks.indexOf(mark)]
    next = isNext ? next + 1 : 0
    if (!group || !state) return { state: undefined, last: entry.last }
    // Two limits of one mark must not share what they go on from.
    if (taken.has(state)) return { state: structuredClone(state), last: group.last }
    taken.add(state)
    return { state, last: group.last }
  })
}

/** The states of limits that `set` does not have, as far as they can still count. */
export function othersOf(entry: Entry, set: LimitSet, now: number): Group[] {
  const own = new Set(marksOf(set))
  return groupsOf(entry)
    .filter(({ ends }) => ends > now)
    .map((group) => without(group, own))
    .filter(({ marks }) => marks.length > 0)
    .slice(0, MOST_OTHERS)
}

function groupsOf({ last, ends, set, states, others }: Entry): Group[] {
  return [{ last, ends, marks: states.length > 0 ? marksOf(set) : [], states }, ...others]
}

function marksOf({ limits }: LimitSet): number[] {
  return limits.map(({ mark }) => mark)
}

function without(group: Group, marks: ReadonlySet<number>): Group {
  const stays = (_: unknown, i: number): boolean => !marks.has(group.marks[i] as number)
  return { ...group, marks: group.marks.filter(stays), states: group.states.filter(stays) }
}
