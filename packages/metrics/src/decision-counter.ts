import type { Decision, StoreError } from '@tollgate/core'
import type { Collector } from './collector.js'
import { ATTRIBUTES, type Attributes } from './instruments.js'
import { createSum, type Ledger, type Sum } from './ledger.js'
import type { Settings } from './options.js'

/** The sums for one kind of decision. */
interface Cell {
  /** The decisions' attributes, which their violations share. */
  readonly common: Attributes
  readonly decisions: Sum
  readonly units: Sum
  /** By limit name, and so are those of limits that deny nothing. */
  readonly violations: Map<string, Sum>
  readonly observations: Map<string, Sum>
  readonly overage: Map<string, Sum>
  /** Of the time that requests waited in line. Without the subject, since each would have as many series as there are buckets. */
  readonly waited: Attributes
}

/** Subject ids are cut to this many characters, since they can have any length. */
const LONGEST_SUBJECT = 128
/** Limits beyond this number count as OTHER: names can contain labels from requests, so their number is unbounded. */
const MOST_LIMITS = 1000
/** The name for those limits, as in OpenTelemetry's conventions. */
const OTHER = '_OTHER'

/** Counts decisions. Makes attributes once for each kind of decision, and for each subject once per turn of the event loop. */
export class DecisionCounter {
  readonly #settings: Settings
  readonly #collector: Collector
  readonly #ledger: Ledger
  /** One for each kind of decision: as many as plans times results. */
  readonly #cells = new Map<string, Cell>()
  /** Dropped after each turn of the event loop, since the number of subjects is unbounded. */
  readonly #subjectCells = new Map<Cell, Map<string, Cell>>()
  #turn = 0
  readonly #fallbacks = new Map<string, Sum>()
  /** The limit names that have been used. */
  readonly #limits = new Set<string>()

  constructor(settings: Settings, collector: Collector) {
    this.#settings = settings
    this.#collector = collector
    this.#ledger = collector.ledger
  }

  decision(decision: Decision): void {
    const cell = this.#cellFor(decision)
    this.#ledger.add(cell.decisions, 1)
    this.#ledger.add(cell.units, decision.cost)
    for (const name of decision.violated) this.#count('violations', cell, name)
    for (const { name, over = 0 } of decision.allowed ? decision.limits : []) {
      if (over > 0) this.#count('overage', cell, name, Math.min(over, decision.cost))
    }
    for (const { name, wouldDeny } of decision.observed ?? []) {
      if (wouldDeny) this.#count('observations', cell, name)
    }
    const { waitedMs } = decision
    if (waitedMs !== undefined) this.#collector.sink.record('waitTime', waitedMs / 1000, cell.waited)
  }

  fallback({ source, allowed }: Decision, { reason }: StoreError): void {
    const key = `${source} ${allowed} ${reason}`
    let sum = this.#fallbacks.get(key)
    if (!sum) {
      sum = createSum('fallbacks', {
        ...this.#settings.attributes,
        [ATTRIBUTES.policy]: source,
        [ATTRIBUTES.result]: resultFor(allowed),
        [ATTRIBUTES.errorType]: reason,
      })
      this.#fallbacks.set(key, sum)
    }
    this.#ledger.add(sum, 1)
  }

  #cellFor(decision: Decision): Cell {
    const key = `${decision.source} ${decision.reason} ${planOf(decision)}`
    let cell = this.#cells.get(key)
    if (!cell) {
      cell = this.#makeCell(decision)
      this.#cells.set(key, cell)
    }
    const subject = this.#settings.subjectOf && this.#subjectFor(decision)
    return subject === undefined ? cell : this.#subjectCellFor(cell, decision, subject)
  }

  #subjectCellFor(cell: Cell, decision: Decision, subject: string): Cell {
    if (this.#turn !== this.#ledger.turn) this.#subjectCells.clear()
    this.#turn = this.#ledger.turn
    const bySubject = this.#subjectCells.get(cell) ?? new Map<string, Cell>()
    this.#subjectCells.set(cell, bySubject)
    const own = bySubject.get(subject) ?? this.#makeCell(decision, { [ATTRIBUTES.subject]: subject })
    bySubject.set(subject, own)
    return own
  }

  #makeCell(decision: Decision, more?: Attributes): Cell {
    const { source, allowed, reason } = decision
    const plan = planOf(decision)
    const ofPlan = plan !== undefined && { [ATTRIBUTES.plan]: plan }
    const common = {
      ...this.#settings.attributes,
      ...ofPlan,
      [ATTRIBUTES.source]: source,
      ...more,
    }
    const result = { [ATTRIBUTES.result]: resultFor(allowed) }
    const attributes = {
      ...common,
      ...result,
      ...(reason !== undefined && { [ATTRIBUTES.reason]: reason }),
    }
    return {
      common,
      decisions: createSum('decisions', attributes),
      units: createSum('units', attributes),
      violations: new Map(),
      observations: new Map(),
      overage: new Map(),
      waited: { ...this.#settings.attributes, ...ofPlan, ...result },
    }
  }

  #count(
    what: 'violations' | 'observations' | 'overage',
    { common, [what]: sums }: Cell,
    limit: string,
    by = 1,
  ): void {
    const name = this.limitNameFor(limit)
    let sum = sums.get(name)
    if (!sum) {
      sum = createSum(what, { ...common, [ATTRIBUTES.limit]: name })
      sums.set(name, sum)
    }
    this.#ledger.add(sum, by)
  }

  /** The name, or OTHER if there were too many. */
  limitNameFor(name: string): string {
    if (this.#limits.size < MOST_LIMITS) this.#limits.add(name)
    return this.#limits.has(name) ? name : OTHER
  }

  /** The attribute for the subject that pays; undefined if there is none, or the user's function fails. */
  #subjectFor({ subject }: Decision): string | undefined {
    try {
      const given: unknown = this.#settings.subjectOf?.(subject)
      if (given === undefined || typeof given === 'string') return given?.slice(0, LONGEST_SUBJECT)
      // It may be any library's promise, and an unhandled rejection would end the process.
      Promise.resolve(given).catch(() => {})
      this.#collector.warn(
        new TypeError(`subjectAttribute returned ${typeof given}, expected a string or undefined`),
      )
    } catch (error) {
      this.#collector.warn(error)
    }
    return undefined
  }
}

/** The plan that was applied. Undefined if the block list or a rule decided, since no plan was looked up then. */
function planOf({ source, plan }: Decision): string | undefined {
  return source === 'list' || source === 'rule' ? undefined : plan
}

function resultFor(allowed: boolean): 'allowed' | 'denied' {
  return allowed ? 'allowed' : 'denied'
}
