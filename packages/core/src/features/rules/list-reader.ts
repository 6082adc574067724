import type { StoreError } from '../../base/errors.js'
import type { Instance, RuleEntry } from '../../stores/rule-list.js'

/** What a process knows of the list of rules. */
export type ListState =
  /** It was not read yet, so no rule holds here. */
  | 'unread'
  | 'current'
  /** The store has been silent for some seconds. The rules that were read hold on. */
  | 'stale'
  /** The store refuses what rules need. */
  | 'off'

/**
 * Where a change of an entry comes from. `first`: it was there when this process began. `pending`: made here, and not written yet.
 * `undone`: made here, and refused. `here`: made here, and written. `there`: made by another process.
 */
export type Origin = 'first' | 'pending' | 'undone' | 'here' | 'there'

/** A limiter whose rules are in the list. */
export interface ListReader {
  /** What the keys of all its rules begin with. */
  readonly begin: string
  /** An entry is another than before. Undefined: there is none any more. */
  onEntry(key: string, entry: RuleEntry | undefined, origin: Origin): void
  /** The list was read for the first time. */
  onFirst(): void
  /** Identifies it among the limiters of its name. Undefined: it is not counted. */
  readonly instance: Instance | undefined
  /** So many limiters of its name are open, in all processes. */
  onInstances(count: number): void
  /** The list was not read for so long that changes may have come and gone. */
  onGap(): void
  /** Rules do not work with this store. Called once. */
  onRefused(error: StoreError): void
}
