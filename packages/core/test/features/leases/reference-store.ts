// Leases at a store, said once more and as plainly as possible: nothing here is quick, packed or shared with a real store
// but the algorithms. What the real stores answer is compared with it.
import { NEVER } from '../../../src/algorithms/implementation.js'
import { implementations, type AnyImplementation } from '../../../src/algorithms/registry.js'
import type { LimitSet, Params } from '../../../src/plans/limit/limit-set.js'
import type {
  ChargeRequest,
  LeaseOrder,
  LeaseReport,
  LeaseWish,
  LimitOutcome,
  Outcome,
  RefundRequest,
  StoreRequest,
} from '../../../src/stores/contract.js'

interface Kept {
  readonly state: object
  last: number
}

interface Row {
  readonly id: string
  out: number
  told: number
}

/** Leases that end together. */
interface Group {
  end: number
  readonly lagUs: number
  /** Of the limits that must still count what is out. */
  stateIds: number[]
  rows: Row[]
}

interface Held {
  last: number
  states: Map<number, Kept>
  groups: Group[]
}

interface Own {
  readonly algorithm: AnyImplementation
  readonly stateId: number
  readonly kept: Kept
  params(now: number): Params
}

/** The limits of one set of a subject, as of one moment. */
class Loaded {
  readonly held: Held
  /** Whether an order changed what is on lease. */
  hasChanged = false
  readonly #now: number
  readonly #limits: readonly Own[]
  /** Whether units cannot be given back, by what is stored. */
  readonly #isOther: boolean

  constructor(before: Held | undefined, { limits }: LimitSet, now: number) {
    this.held = before ? structuredClone(before) : { last: now, states: new Map(), groups: [] }
    this.#now = now
    const back = Math.max(this.held.last - now, 0)
    for (const group of this.held.groups) group.end -= back
    this.held.last = now
    this.#limits = limits.map(({ algorithm: name, stateId, paramsAt }) => {
      const algorithm = implementations[name]
      const kept = this.held.states.get(stateId) ?? { state: algorithm.create(), last: now }
      this.held.states.set(stateId, kept)
      return { algorithm, stateId, kept, params: (at) => paramsAt(at / 1000) }
    })
    this.#isOther = this.#limits.some(({ algorithm, kept, params }) =>
      algorithm.isOther?.(kept.state, params(now)),
    )
    this.#endGroups()
  }

  outcomes(cost: number): LimitOutcome[] {
    return this.#limits.map((own) => {
      const { algorithm, kept, stateId } = own
      const params = this.#load(own)
      const living = this.held.groups.filter(({ stateIds }) => stateIds.includes(stateId))
      const leased = living.reduce((sum, group) => sum + unitsOf(group), 0)
      const wait = (units: number): number => {
        const wanted = algorithm.wait(kept.state, units + leased, params)
        if (wanted !== NEVER || algorithm.wait(kept.state, units, params) === NEVER) return wanted
        return (
          Math.max(...living.map(({ end }) => end)) - this.#now + Math.ceil(algorithm.countsForUs(params))
        )
      }
      const remaining = Math.max(algorithm.remaining(kept.state, params) - leased, 0)
      const told = { wait: wait(cost), remaining, reset: Math.max(wait(remaining + 1), 0) }
      return leased > 0 ? { ...told, leased } : told
    })
  }

  take(cost: number): void {
    for (const own of this.#limits)
      this.#write(own, (params) => own.algorithm.take(own.kept.state, cost, params))
  }

  give({ receipts }: RefundRequest['parts'][number]): boolean | undefined {
    if (this.#isOther) return undefined
    let given = false
    for (const [i, own] of this.#limits.entries()) {
      const receipt = receipts[i]
      this.#write(own, (params) => {
        if (receipt && receipt.units > 0 && own.algorithm.give(own.kept.state, receipt, params)) given = true
      })
    }
    return given
  }

  order({ reports, wish }: LeaseOrder): { granted: number; endsInUs: number; isKnown: boolean } {
    let isKnown = true
    for (const report of reports) if (!this.#report(report) && report.left + report.used > 0) isKnown = false
    return { ...(wish ? this.#grant(wish) : { granted: 0, endsInUs: 0 }), isKnown }
  }

  #report({ id, used, left }: LeaseReport): boolean {
    for (const group of this.held.groups) {
      const row = group.rows.find((each) => each.id === id)
      if (!row) continue
      const entered = Math.min(Math.max(used - row.told, 0), row.out)
      const out = Math.min(row.out - entered, left)
      if (out !== row.out) this.hasChanged = true
      row.told += entered
      row.out = out
      group.rows = group.rows.filter(({ out }) => out > 0)
      this.held.groups = this.held.groups.filter(({ rows }) => rows.length > 0)
      const at = group.lagUs === 0 ? this.#now : Math.min(group.end - group.lagUs, this.#now)
      if (entered > 0) for (const own of this.#limits) this.#enter(own, entered, at)
      return true
    }
    return false
  }

  #grant({ id, most, least, share, lengthUs, lagUs }: LeaseWish): { granted: number; endsInUs: number } {
    for (const { end, rows } of this.held.groups) {
      const living = rows.find((row) => row.id === id)
      if (living) return { granted: living.out, endsInUs: end - this.#now }
    }
    const free = Math.min(...this.outcomes(1).map(({ remaining }) => remaining))
    const units = Math.min(most, Math.floor(free * share))
    const grid = Math.max(1000, Math.floor(lengthUs / 8))
    const end = Math.floor((this.#now + lengthUs) / grid) * grid
    if (units < least || units === 0 || end <= this.#now) return { granted: 0, endsInUs: 0 }
    const stateIds = this.#limits.map(({ stateId }) => stateId)
    const same = (group: Group): boolean =>
      group.end === end && group.lagUs === lagUs && group.stateIds.join() === stateIds.join()
    let group = this.held.groups.find(same)
    if (!group) this.held.groups.push((group = { end, lagUs, stateIds, rows: [] }))
    group.rows.push({ id, out: units, told: 0 })
    this.hasChanged = true
    return { granted: units, endsInUs: end - this.#now }
  }

  /** What is out when a lease ends counts from then on. */
  #endGroups(): void {
    const ended = this.held.groups.filter(({ end }) => end <= this.#now).toSorted((a, b) => a.end - b.end)
    for (const group of ended) {
      for (const own of this.#limits) {
        if (!group.stateIds.includes(own.stateId)) continue
        this.#enter(own, unitsOf(group), group.end - group.lagUs)
        group.stateIds = group.stateIds.filter((each) => each !== own.stateId)
      }
    }
    this.held.groups = this.held.groups.filter(({ stateIds }) => stateIds.length > 0)
  }

  /** Counts units as used at some time: as of then, unless the state is newer. A level cannot be raised before it was written. */
  #enter(own: Own, units: number, at: number): void {
    const { algorithm, kept } = own
    const isLevel = algorithm.leftAfter !== undefined
    // A log forgets what has expired before it takes more, or both could share a slot.
    if (algorithm.name === 'sliding-log' || (kept.last > at && !isLevel)) {
      const used = [{ units, ageUs: this.#now - at }]
      return this.#write(own, (params) => void algorithm.force(kept.state, used, params))
    }
    // Of a bucket that nothing has filled, any time is as good.
    const isEmpty = kept.last >= this.#now && 'level' in kept.state && kept.state.level === 0
    const when = isEmpty ? at : Math.max(at, kept.last)
    if (isEmpty) kept.last = at
    algorithm.load(kept.state, kept.last, when, own.params(when))
    algorithm.force(kept.state, [{ units, ageUs: 0 }], own.params(when))
    kept.last = when
  }

  #write(own: Own, change: (params: Params) => void): void {
    change(this.#load(own))
    own.kept.last = this.#now
  }

  #load({ algorithm, kept, params }: Own): Params {
    const own = params(this.#now)
    algorithm.load(kept.state, kept.last, this.#now, own)
    return own
  }
}

export class ReferenceStore {
  readonly #held = new Map<string, Held>()

  consume({ parts, order }: StoreRequest, now: number): Outcome {
    const { key, set, cost } = onlyOf(parts)
    const loaded = new Loaded(this.#held.get(key), set, now)
    const asked = loaded.outcomes(cost)
    if (!order && asked.some(({ wait }) => wait !== 0)) return { at: now, limits: asked }
    if (!order) {
      loaded.take(cost)
      this.#held.set(key, loaded.held)
      return { at: now, limits: loaded.outcomes(cost).map((limit) => ({ ...limit, wait: 0 })) }
    }
    const { granted, ...lease } = loaded.order(order)
    // As a denial, an order that changes nothing is not written.
    if (loaded.hasChanged) {
      loaded.take(0)
      this.#held.set(key, loaded.held)
    }
    return { at: now, limits: loaded.outcomes(1).map((limit) => ({ ...limit, wait: 0, granted })), lease }
  }

  /** Takes units over the quota, as of now. */
  force({ parts }: ChargeRequest, now: number): void {
    const { key, set, used } = onlyOf(parts)
    const loaded = new Loaded(this.#held.get(key), set, now)
    loaded.take(used[0]?.[0]?.units ?? 0)
    this.#held.set(key, loaded.held)
  }

  peek({ parts }: StoreRequest, now: number): Outcome {
    const { key, set, cost } = onlyOf(parts)
    return { at: now, limits: new Loaded(this.#held.get(key), set, now).outcomes(cost) }
  }

  refund({ parts }: RefundRequest, now: number): boolean {
    const part = onlyOf(parts)
    const held = this.#held.get(part.key)
    if (!held) return false
    const loaded = new Loaded(held, part.set, now)
    const given = loaded.give(part)
    // Nor is what gives nothing back.
    if (given !== undefined) this.#held.set(part.key, loaded.held)
    return given ?? false
  }

  reset(key: string): void {
    this.#held.delete(key)
  }
}

const unitsOf = ({ rows }: Group): number => rows.reduce((sum, { out }) => sum + out, 0)

function onlyOf<Part>(parts: readonly Part[]): Part {
  const [part] = parts
  if (!part || parts.length > 1) throw new Error('one part at a time')
  return part
}
