import type { LimitSet } from '../../plans/limit-set.js'

/** The state of a limit that the set of the last write does not have: the subject was on another plan then. */
export interface OtherPart {
  readonly stateId: number
  readonly state: object
  /** When it was written, and when it stops counting, in µs. */
  readonly last: number
  readonly ends: number
}

const NO_OTHERS: readonly OtherPart[] = []

/** All that is kept for one subject. */
export interface Entry {
  readonly key: string
  /** The limits of the last write, and the state of each, in the same order. */
  set: LimitSet
  states: readonly object[]
  /** When those states were written, and when the last of them stops counting, in µs. */
  last: number
  ends: number
  others: readonly OtherPart[]
  /** When nothing of the entry counts any more, in µs. */
  expires: number
  /** Its neighbours in the order of last use. */
  older: Entry | undefined
  newer: Entry | undefined
  isListed: boolean
}

export function createEntry(key: string, set: LimitSet): Entry {
  return {
    key,
    set,
    states: [],
    last: 0,
    ends: 0,
    others: NO_OTHERS,
    expires: 0,
    older: undefined,
    newer: undefined,
    isListed: false,
  }
}

/** Writes the states of a set's limits. States of other limits are kept as long as they count. */
export function writeEntry(
  entry: Entry,
  { set, states }: Pick<Entry, 'set' | 'states'>,
  { now, keptUs }: { readonly now: number; readonly keptUs: number },
): void {
  if (entry.set !== set || entry.others !== NO_OTHERS) entry.others = othersBeside(entry, set, now)
  entry.set = set
  entry.states = states
  entry.last = now
  entry.ends = now + set.ttlMs * 1000 + keptUs
  entry.expires = entry.ends
  for (const { ends } of entry.others) entry.expires = Math.max(entry.expires, ends)
}

/** The states of limits that `set` does not have and that still count. */
function othersBeside(entry: Entry, set: LimitSet, now: number): readonly OtherPart[] {
  const isOther = ({ stateId, ends }: OtherPart): boolean =>
    ends > now && !set.limits.some((limit) => limit.stateId === stateId)
  const { others } = entry
  if (entry.set === set) return others.every(isOther) ? others : orNone(others.filter(isOther))
  return orNone([...partsOf(entry), ...others].filter(isOther))
}

function orNone(others: readonly OtherPart[]): readonly OtherPart[] {
  return others.length === 0 ? NO_OTHERS : others
}

/** The states of the last write, as items for the list `others`. */
export function partsOf({ set, states, last, ends }: Entry): OtherPart[] {
  return states.map((state, i) => ({ stateId: set.limits[i]?.stateId ?? 0, state, last, ends }))
}
