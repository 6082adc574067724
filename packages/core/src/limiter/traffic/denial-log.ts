import { randomText } from '../../base/platform.js'
import { givenOf } from '../../base/options.js'
import { readTarget, type Target } from '../../features/rules/rule-options.js'
import type { HideId } from '../../requests/key.js'
import type { Note } from '../../stores/board.js'
import type { Decision, DecisionSource, DenialReason } from '../decision/decision.js'
import { lastBack } from '../decision/denial.js'
import type { EventContext } from '../report/events.js'
import { wholeOf } from './figures.js'

const MINUTE_MS = 60_000
/** A subject that is denied all the time gets one record in this time. */
const LONGEST_MS = 64 * MINUTE_MS
/** Of one process: denials of further subjects leave no record. */
const MOST_HELD = 500
const FORMAT = 1
const LONGEST_ROUTE = 100

/**
 * Denials of one subject by one limit, in one process, within a minute or, if they go on, longer. Denials by the store and those of the process
 * alone are records of their own.
 */
export interface DenialRecord {
  /** The subject's id; with `hashIds` or if it cannot be shown, its key. */
  readonly subject: string
  readonly plan: string
  /** The limit that denied: of several, the one that is back last. Left out if it was none. */
  readonly limit?: string
  /** Whose limit it is, of a request with several subjects: its id, as `subject`. Left out if it is that of `subject`. */
  readonly limitOf?: string
  readonly reason: DenialReason
  /** What made the latest of the decisions. */
  readonly source: DecisionSource
  /** When the first and the latest were, by the store's clock. */
  readonly first: Date
  readonly last: Date
  /** How many there were. Of those that this process answered from memory, a part is counted under load, and stands for the others. */
  readonly count: number
  /** Units that the latest request asked for, that were used then, and the quota. The last two are left out where they were not known. */
  readonly cost: number
  readonly used?: number
  readonly quota?: number
  /** After how many ms the latest would have passed if no other took units; null if never. */
  readonly waitMs: number | null
  /** The route of the first, where `eventContext` gives it. */
  readonly route?: string
  /** Set if a rule had changed the limits. */
  readonly override?: true
}

/** A record that is still written. */
interface Open {
  readonly id: string
  readonly key: string
  /** What its denials have in common. */
  readonly held: string
  /** How long it is, in ms. */
  readonly lengthMs: number
  record: DenialRecord
  isPut: boolean
}

/** The denials of one process, as it writes them down. */
export class DenialRecords {
  readonly #hide: HideId | undefined
  readonly #open = new Map<string, Open>()
  /** Records that are over before they were put. */
  #over: Open[] = []

  constructor(hide: HideId | undefined) {
    this.#hide = hide
  }

  /** @param count how many denials this one stands for */
  note(
    { decision, context }: { readonly decision: Decision; readonly context: EventContext | undefined },
    { what: key, of: subject }: Target,
    { count, nowMs }: { readonly count: number; readonly nowMs: number },
  ): void {
    const facts = factsOf(decision, this.#hide)
    const held = `${key} ${facts.limit ?? ''} ${facts.limitOf ?? ''} ${facts.reason} ${OF_STORE.has(facts.source) ? 'store' : facts.source}`
    const known = this.#open.get(held)
    const isOpen = known !== undefined && nowMs < known.record.first.getTime() + known.lengthMs
    const last = new Date(nowMs)
    if (isOpen) {
      const { first, route, count: before } = known.record
      known.record = { subject, ...facts, first, last, count: before + count, ...givenOf({ route }) }
      known.isPut = false
      return
    }
    if (this.#open.size + this.#over.length >= MOST_HELD && (!known || !known.isPut)) return
    if (known && !known.isPut) this.#over.push(known)
    const route = typeof context?.route === 'string' ? context.route.slice(0, LONGEST_ROUTE) : undefined
    this.#open.set(held, {
      ...{ id: randomText(9), key, held, isPut: false },
      lengthMs: known ? Math.min(2 * known.lengthMs, LONGEST_MS) : MINUTE_MS,
      record: { subject, ...facts, first: last, last, count, ...givenOf({ route }) },
    })
  }

  /** The records that have changed, at most so many: first those that have waited longest. Those are forgotten that have long been over. */
  due(nowMs: number, most: number): Open[] {
    for (const [held, { record, lengthMs, isPut }] of this.#open) {
      if (isPut && nowMs > record.last.getTime() + lengthMs) this.#open.delete(held)
    }
    this.#over = this.#over.filter(({ isPut }) => !isPut)
    const due = [...this.#over, ...this.#open.values()].filter(({ isPut }) => !isPut).slice(0, most)
    for (const one of due) {
      one.isPut = true
      // The others come first the next time.
      if (this.#open.get(one.held) === one && this.#open.delete(one.held)) this.#open.set(one.held, one)
    }
    return due
  }
}

/** Decisions that the store made, or that it made before. */
const OF_STORE: ReadonlySet<DecisionSource> = new Set(['store', 'cache', 'lease', 'place'])

export function toNote({ id, key, record }: Open): Note {
  const { first, last, subject, ...facts } = record
  const times = [first.getTime(), last.getTime()]
  return { id, text: JSON.stringify([FORMAT, key, subject === key ? '' : subject, ...times, facts]) }
}

/** The subject's key and the record; undefined if another version wrote it. */
export function readRecord({
  text,
}: Note): { readonly key: string; readonly record: DenialRecord } | undefined {
  try {
    const [format, key, subject, first, last, facts] = JSON.parse(text) as [
      ...[number, string, string, number, number],
      Omit<DenialRecord, 'subject' | 'first' | 'last'>,
    ]
    const isRead = typeof key === 'string' && typeof subject === 'string' && areFacts(facts)
    if (format !== FORMAT || !isRead || !isTime(first) || !isTime(last + (facts.waitMs ?? 0)))
      return undefined
    const times = { first: new Date(first), last: new Date(last) }
    return { key, record: { subject: subject || key, ...facts, ...times } }
  } catch {
    return undefined
  }
}

/** Whether others have written what is shown of a record. */
function areFacts({
  plan,
  limit = '',
  limitOf = '',
  reason,
  source,
  route = '',
  ...numbers
}: Omit<DenialRecord, 'subject' | 'first' | 'last'>): boolean {
  const { count, cost, used = 0, quota = 0, waitMs } = numbers
  return (
    [plan, limit, limitOf, reason, source, route].every((text) => typeof text === 'string') &&
    [count, cost, used, quota, waitMs ?? 0].every((number) => typeof number === 'number' && number >= 0)
  )
}

/** Of the times that a `Date` can have. */
export function isTime(ms: unknown): ms is number {
  return typeof ms === 'number' && Math.abs(ms) <= 8.64e15
}

function factsOf(
  decision: Decision,
  hide: HideId | undefined,
): Omit<DenialRecord, 'subject' | 'first' | 'last' | 'count' | 'route'> {
  const { plan, reason = 'quota-exceeded', source, cost, retryAfterMs, override } = decision
  const { name: limit, owner } = lastBack(decision) ?? {}
  const limitOf = owner && readTarget(owner, hide).of
  const state = [...decision.limits, ...(decision.localLimits ?? [])].find(({ name }) => name === limit)
  const waitMs = retryAfterMs === null ? null : Math.ceil(retryAfterMs)
  return {
    plan,
    ...givenOf({ limit, limitOf }),
    ...{ reason, source, cost, waitMs },
    ...(state && { used: state.used, quota: wholeOf(state) }),
    ...givenOf({ override }),
  }
}
