import type { LimitSet } from '../../plans/limit-set.js'

/** What was used of a limit that the set of the last write does not have: of another plan. */
export interface OtherPart {
  readonly stateId: number
  readonly state: object
  /** When it was written, in µs, and when it cannot count any more. */
  readonly last: number
  readonly ends: number
}

const NO_OTHERS: readonly OtherPart[] = []

/** What is kept of one subject. */
export interface Entry {
  readonly key: string
  /** Of the last write, with a state for each of its limits. */
  set: LimitSet
  states: readonly object[]
  /** When those were written, in µs, and when none of them can count any more. */
  last: number
  ends: number
  others: readonly OtherPart[]
  /** When nothing of it can count any more. */
  expires: number
  /** Its place in the order of last use. */
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

/** Makes the states of the limits of a set what is kept, and what was kept of other limits stay as long as it counts. */
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

/** The states of limits that `set` does not have, as far as they can still count. */
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

/** The states of the last write, as what they are to other sets. */
export function partsOf({ set, states, last, ends }: Entry): OtherPart[] {
  return states.map((state, i) => ({ stateId: set.limits[i]?.stateId ?? 0, state, last, ends }))
}
