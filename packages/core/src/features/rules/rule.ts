import type { OwnLimits } from '../../plans/own-limits.js'
import type { RuleEntry } from '../../stores/rule-list.js'
import type { RuleNote } from './rule-options.js'

/**
 * - `block`: all requests of a subject are denied.
 * - `override`: a subject has other limits than its plan's.
 * - `scale`: all limits of a plan are multiplied.
 * - `forgetPlan`: `planOf` is asked again for a subject.
 */
export type RuleKind = keyof typeof LETTERS

/** What was decided at run time about a subject or a plan. It holds in all processes. */
export interface Rule {
  readonly kind: RuleKind
  /** A subject's id, the beginning of ids with a `*` behind it, or for `scale` a plan's name. With `hashIds`, the hashed id. */
  readonly of: string
  /** When it ends, by the store's clock. */
  readonly until: Date
  /** When it was set, by the store's clock. Not known of a block that came by itself. */
  readonly setAt?: Date
  /** Who set it, and why, if that was given. */
  readonly by?: string
  readonly reason?: string
  /** Set for a block that came by itself: see the plan option `blockAfter`. How many it had, this one included. */
  readonly level?: number
  /** With `override` and `scale`: what all limits are multiplied by, except those of requests in flight. */
  readonly factor?: number
  /** With `override` and `scale`: what limits of requests in flight are multiplied by. */
  readonly concurrentFactor?: number
  /** With `override`: the limits that apply instead of the plan's. */
  readonly limits?: OwnLimits
  /** With `override`: the plan whose limits apply. */
  readonly plan?: string
  /**
   * Ends the rule now, in all processes.
   *
   * @param note who lifts it and why, for the event `rule`
   * @returns whether it still held
   * @throws {StoreError} when the store does not answer
   */
  lift(note?: RuleNote): Promise<boolean>
}

/** What an entry of the list says. */
export type RuleTerms = Omit<Rule, 'until' | 'setAt' | 'level' | 'lift'>

/** The letter of each kind in keys of the list. */
const LETTERS = { block: 'b', override: 'o', scale: 's', forgetPlan: 'f' } as const
const KINDS = Object.keys(LETTERS) as RuleKind[]
/** The version of the texts below. Texts of a later version are left alone. */
const FORMAT = 1
/** The types of a rule's terms as they are written. `limits` are checked where they are used. */
const TYPES = {
  ...{ by: 'string', reason: 'string', plan: 'string' },
  ...{ factor: 'number', concurrentFactor: 'number', limits: undefined },
} as const
type Term = keyof typeof TYPES
const NAMES = Object.keys(TYPES) as Term[]

/** The key of a rule in the list, behind its limiter's name. There is one rule of a kind for each. */
export function ruleKey(kind: RuleKind, what: string): string {
  return LETTERS[kind] + what
}

/** The key of the subject, the plan or the beginning of ids that a rule is about. */
export function whatOf(key: string): string {
  return key.slice(1)
}

export function kindOf(key: string): RuleKind | undefined {
  return KINDS.find((kind) => LETTERS[kind] === key[0])
}

export function toText(terms: RuleTerms): string {
  return JSON.stringify({ v: FORMAT, ...terms })
}

/** What an entry says; undefined if it was lifted, or if a later version of Tollgate wrote it. */
export function readTerms({ text }: Pick<RuleEntry, 'text'>): RuleTerms | undefined {
  if (text === '') return undefined
  try {
    const { v, kind, of, ...rest } = JSON.parse(text, withDates) as RuleTerms & { readonly v: unknown }
    if (v !== FORMAT || !KINDS.includes(kind) || typeof of !== 'string') return undefined
    const isWrong = (name: Term): boolean => TYPES[name] !== undefined && typeof rest[name] !== TYPES[name]
    const given = NAMES.filter((name) => rest[name] !== undefined)
    // A block holds also if who set it cannot be read.
    if (given.some((name) => isWrong(name) && name !== 'by' && name !== 'reason')) return undefined
    const read = given.filter((name) => !isWrong(name))
    return Object.assign({ kind, of }, Object.fromEntries(read.map((name) => [name, rest[name]])))
  } catch {
    return undefined
  }
}

/** In JSON, an anchor that is a `Date` becomes a text with a zone. No anchor that is a text has one. */
export function withDates(name: string, value: unknown): unknown {
  return name === 'anchor' && typeof value === 'string' && value.endsWith('Z') ? new Date(value) : value
}
