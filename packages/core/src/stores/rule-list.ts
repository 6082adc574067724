import { isWhole } from '../base/options.js'
import type { MaybePromise } from '../base/promises.js'

/**
 * The list of a store's rules: what was decided at run time about subjects and plans, such as a block. Every process holds the
 * whole list in memory, and asks for what changed.
 *
 * Each change gives the list a new version, and each version has the random id of its change. A process sends the version and
 * the id that it read last. If the list does not know them, it was lost or rolled back: the process then reads all of it, and
 * sends back what the list lacks.
 */
export interface RuleList {
  /** Changes the list and returns what the process does not know yet. May reject, or throw, if the store fails. */
  sync(call: RulesCall): MaybePromise<RulesReply>
  /** The store's time in µs, if it is known without asking. */
  now?(): number
}

/** A version of the list, and the id of the change that made it. */
export interface ListVersion {
  /** A whole number from 0. 0: the list is empty, or nothing was read yet. */
  readonly version: number
  /** Empty with version 0. */
  readonly id: string
}

/** A rule in the list, or what is left of one that was lifted. */
export interface RuleEntry {
  /** Names the rule: a later entry with this key replaces it. At most 300 characters. */
  readonly key: string
  /** When it was last changed, in µs by the store's clock. A later change of a key always has a later time. */
  readonly changedAt: number
  /** When the rule ends, in µs by the store's clock. */
  readonly until: number
  /**
   * When the list forgets the entry, in µs by the store's clock: once no earlier rule of this key would hold any more. Until then
   * a process that comes back with an old rule must not revive it.
   */
  readonly keptUntil: number
  /** What the rule says; empty if it was lifted. At most 8192 characters. */
  readonly text: string
}

/** A change of one rule. */
export interface RuleChange {
  /** 12 letters, digits, `_` or `-`, chosen at random. A change that is sent again with its id counts once. */
  readonly id: string
  readonly key: string
  /** What the rule says from now on; empty to lift it. */
  readonly text: string
  /**
   * When the rule ends: in this many µs from now, or at this time, in µs by the store's clock. If the text is empty: when the
   * rule that the sender knows ends, at 0 if it knows none.
   */
  readonly end: { readonly inUs: number } | { readonly at: number }
  /**
   * When the sender saw this key changed last, by the store's clock; 0: never. The new change is later than that. If the list
   * knows only earlier ones, it has lost what the sender saw. Then it lifts the rule that the sender knows.
   */
  readonly knownAt: number
  /** Until when the sender would keep the entry that it knows; 0: none. The list keeps the new one at least as long. */
  readonly keptUntil: number
}

/**
 * - `written`: the change is in the list.
 * - `absent`: there was no rule to lift.
 * - `full`: the list has as many entries as it may have, and this key is not among them.
 * - `past`: the rule would have ended before now.
 */
export type ChangeResult = (typeof CHANGE_RESULTS)[number]

export const CHANGE_RESULTS = ['written', 'absent', 'full', 'past'] as const

/** The most entries of a list, lifted ones included. */
export const MOST_RULES = 10_000
/** The most entries in one reply. A process asks again for the others. */
export const MOST_ENTRIES_A_REPLY = 1000
/** The list knows at least this many of its latest versions. */
export const VERSIONS_KNOWN = 1024

/** A limiter of a process that is open, or that has just closed. */
export interface Instance {
  /** What all limiters of this name have in common: 1 to 33 letters, digits or `_.-^`. */
  readonly of: string
  /** As in RuleChange. */
  readonly id: string
  readonly isOpen: boolean
}

/** How long an open instance is counted after it was reported, in ms. */
export const INSTANCE_KEPT_MS = 30_000

/** What a process asks of the list. */
export interface RulesCall {
  /** Limiters of the process to count. Left out: none, as most times. */
  readonly instances?: readonly Instance[] | undefined
  /** What the process has read last. */
  readonly known: ListVersion
  /** In the order in which they were made. */
  readonly changes: readonly RuleChange[]
  /** Entries that the list may have lost, each with an id as in RuleChange. One counts if it is later than the list's own. */
  readonly restored: readonly (RuleEntry & { readonly id: string })[]
}

/** The list's answer. */
export interface RulesReply {
  /** The store's time, in µs. */
  readonly at: number
  /** For each instance of the call: how many with the same `of` are open, in all processes. */
  readonly instances?: readonly number[] | undefined
  /** What became of each change. */
  readonly results: readonly ChangeResult[]
  /** Whether the list does not know the process's version. The entries then begin anew, with the oldest version. */
  readonly isWhole: boolean
  /** Entries that the process does not know, the oldest version first. */
  readonly entries: readonly RuleEntry[]
  /** The version that the process knows with these entries. */
  readonly known: ListVersion
  /** Whether there are more entries to ask for. */
  readonly hasMore: boolean
}

/** Whether a list's answer is valid. A user's own store can return anything. */
export function isRulesReply(given: unknown, { changes, known: before }: RulesCall): given is RulesReply {
  try {
    const { at, results, isWhole: isAll, entries, known, hasMore } = given as RulesReply
    if (!isWhole(at, 0) || results.length !== changes.length || !isVersion(known)) return false
    // Otherwise it would be asked for ever.
    if (hasMore && (entries.length === 0 || known.version <= (isAll ? 0 : before.version))) return false
    return results.every((result) => CHANGE_RESULTS.includes(result)) && entries.every(isEntry)
  } catch {
    // Something is undefined or null, or a getter threw.
    return false
  }
}

function isVersion({ version, id }: ListVersion): boolean {
  return isWhole(version, 0) && typeof id === 'string'
}

function isEntry({ key, changedAt, until, keptUntil, text }: RuleEntry): boolean {
  const isText = typeof key === 'string' && typeof text === 'string'
  return isText && [changedAt, until, keptUntil].every((time) => isWhole(time, 0))
}
