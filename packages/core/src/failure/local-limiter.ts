import { LruMap } from '../base/lru-map.js'
import { shareOf } from '../plans/scaled-limits.js'
import { unitsTaken } from '../requests/verdict.js'
import type { Grant, Outcome, StoreRequest, SubRequest } from '../stores/contract.js'
import { ProcessStore } from '../stores/memory/process-store.js'
import { StoreKnowledge } from './store-knowledge.js'
import { unitsOf, UsageLedger, type Used } from './usage-ledger.js'
import { CLOCKS, type LocalClocks } from './local-clocks.js'
import { usedOf, waitable } from './local-share.js'
import { refundOf } from '../stores/receipts.js'

export interface LocalOptions {
  /**
   * How many processes share the store: each holds subjects to so many parts of their plans while the store cannot
   * answer. Default: as many as were seen in the store in the last half minute.
   */
  readonly instances?: number
  /** How many subjects are remembered at most, each with 0.5 to 6 kB. Default: 10 000. */
  readonly maxSubjects?: number
}

/** What is asked of this process, as of a store. */
export interface LocalRequest {
  readonly parts: readonly SubRequest[]
  readonly grant: Grant
  /** Of a step: there are others, which may deny. */
  readonly turn?: object | undefined
}

interface LocalKey {
  readonly shard: number
  /** Reports of the store from before this time are ignored, in ms. */
  fromMs: number
  /** Whether units were admitted that the store has not been told of. */
  owes: boolean
  /** How many messages that tell it are under way. */
  underWay: number
}

/** What was admitted of a key beside the store, for it to be told. */
export interface Owed {
  readonly key: string
  readonly shard: number
  readonly used: Used
}

/** What was decided here of a request, for a refund. */
interface Decided {
  readonly parts: readonly SubRequest[]
  readonly outcome: Outcome
  readonly units: number
  readonly atUs: number
}

/**
 * Limits in this process while the store cannot: by the same plans, at a share of their quotas, from what the store
 * last said of a subject. Remembers what it has admitted, so that the store can be told.
 */
export class LocalLimiter {
  /** This process's part of every quota. */
  share = 1
  readonly #clocks: LocalClocks
  #nowMs = 0
  readonly #known: StoreKnowledge
  readonly #keys: LruMap<LocalKey>
  /** What decides: shares, and in them what the store knew. */
  readonly #shares: ProcessStore
  readonly #ledger = new UsageLedger()
  readonly #decided = new WeakMap<LocalRequest, Decided>()
  /** Keys of requests whose other steps are not decided yet, and how many those are: their units may go back. */
  readonly #held = new Map<string, number>()
  #unitsForgotten = 0

  constructor(maxSubjects: number, clocks = CLOCKS) {
    this.#clocks = clocks
    this.#known = new StoreKnowledge(maxSubjects)
    this.#keys = new LruMap(maxSubjects, (key) => this.#forgetOwed(key))
    this.#shares = new ProcessStore(maxSubjects, () => this.#nowMs)
  }

  /** Remembers what the store said. Returns the time, in ms of the process's clock. */
  note({ parts }: StoreRequest, outcome: Outcome): number {
    const atMs = this.#clocks.nowMs()
    this.#known.note(parts, outcome, atMs)
    return atMs
  }

  /** Decides the parts of a request that this process is to decide. */
  consume(request: LocalRequest & { readonly shard: number }, parts: readonly SubRequest[]): Outcome {
    const asked = this.#prepare(request, parts)
    const outcome = first(this.#shares.consume([asked]))
    const units = unitsTaken(request, outcome)
    if (units === 0) return waitable(outcome, parts)
    const atUs = this.#clocks.elapsedUs()
    for (const { key, set } of parts) {
      this.#ledger.add(key, set, units, atUs)
      const { fromMs = this.#nowMs, underWay = 0 } = this.#keys.get(key) ?? {}
      this.#keys.use(key, { shard: request.shard, fromMs, owes: true, underWay })
    }
    this.#decided.set(request, { parts, outcome, units, atUs })
    if (request.turn) this.#hold(parts, 1)
    return outcome
  }

  peek(request: LocalRequest & { readonly shard: number }, parts: readonly SubRequest[]): Outcome {
    return waitable(first(this.#shares.peek([this.#prepare(request, parts)])), parts)
  }

  /**
   * Gives back units that a request was admitted for, unless the store has been told of it.
   *
   * @param units at most those it took
   */
  refund(request: LocalRequest, units: number): boolean {
    const decided = this.#decided.get(request)
    if (!decided) return false
    const { parts, outcome, atUs } = decided
    const removed = parts.map(({ key, set }) => this.#ledger.remove(key, set, units, atUs))
    if (!removed.includes(true)) return false
    this.#nowMs = this.#clocks.nowMs()
    this.#shares.refund([refundOf({ shard: 0, parts: this.#sharesOf(parts) }, outcome, units)])
    return true
  }

  /** All steps of a request have been decided: what it took here stays, or has gone back. */
  release(request: LocalRequest): void {
    const decided = this.#decided.get(request)
    if (decided && request.turn) this.#hold(decided.parts, -1)
  }

  /** What is owed of keys that are due, of about so many keys at most; each is to be confirmed. */
  takeOwed(isDue: (shard: number) => boolean, most: number): Owed[] {
    const owed: Owed[] = []
    for (const [key, known] of this.#keys.entries()) {
      if (owed.length >= most) break
      if (!known.owes || !isDue(known.shard) || this.#held.has(key)) continue
      const used = this.#ledger.take(key)
      owed.push(...used.map((one) => ({ key, shard: known.shard, used: one })))
      known.owes = false
      known.underWay += used.length
    }
    return owed
  }

  /** What is owed of some keys, in units of all limits together, when nobody will be told of it: it is owed no more. */
  dropOwed(parts: readonly SubRequest[]): number {
    let units = 0
    for (const { key } of parts) {
      const known = this.#keys.get(key)
      if (known) known.owes = false
      for (const used of this.#ledger.take(key)) units += unitsOf(used)
    }
    return units
  }

  /** The store has been told, or never will be. */
  confirm({ key }: Owed): void {
    const known = this.#keys.get(key)
    if (!known) return
    known.underWay -= 1
    known.fromMs = this.#clocks.nowMs()
  }

  /** Units that were owed of subjects that had to be forgotten for want of room, since this was last asked. */
  takeForgotten(): number {
    const units = this.#unitsForgotten
    this.#unitsForgotten = 0
    return units
  }

  /** The time that ages of what is owed are counted to, in µs. */
  elapsedUs(): number {
    return this.#clocks.elapsedUs()
  }

  forget(key: string): void {
    this.#known.delete(key)
    this.#keys.delete(key)
    this.#ledger.delete(key)
    this.#shares.reset([key], 0)
  }

  #hold(parts: readonly SubRequest[], count: 1 | -1): void {
    for (const { key } of parts) {
      const held = (this.#held.get(key) ?? 0) + count
      if (held > 0) this.#held.set(key, held)
      else this.#held.delete(key)
    }
  }

  #forgetOwed(key: string): void {
    for (const used of this.#ledger.take(key)) this.#unitsForgotten += unitsOf(used)
  }

  #prepare(request: LocalRequest & { readonly shard: number }, parts: readonly SubRequest[]): StoreRequest {
    const nowMs = this.#clocks.nowMs()
    for (const { key } of parts) this.#takeOver(key, request.shard, nowMs)
    this.#nowMs = nowMs
    return { shard: 0, grant: request.grant, parts: this.#sharesOf(parts) }
  }

  #sharesOf(parts: readonly SubRequest[]): SubRequest[] {
    return parts.map((part) => ({ ...part, set: shareOf(part.set, this.share) }))
  }

  /** Goes on from what the store last said, unless it has been told of less since. */
  #takeOver(key: string, shard: number, nowMs: number): void {
    const known = this.#known.get(key)
    const before = this.#keys.get(key)
    if (before && (before.owes || before.underWay > 0 || !known || known.atMs <= before.fromMs)) return
    this.#shares.reset([key], 0)
    this.#keys.use(key, { shard, fromMs: known?.atMs ?? nowMs, owes: false, underWay: 0 })
    if (!known) return
    this.#nowMs = known.atMs
    const used = usedOf(known, this.share).map((units) => (units > 0 ? [{ units, ageUs: 0 }] : []))
    const part = { key, set: shareOf(known.set, this.share), cost: 1, used }
    this.#shares.consume([{ shard: 0, grant: 'force', parts: [part] }])
  }
}

function first(outcomes: readonly Outcome[]): Outcome {
  return outcomes[0] as Outcome
}
