// Plays a schedule before, during and after a fault. Windows last a day, so the used units are a plain sum. It is a
// range, because the outcome of a request in a fault may be unknown.
import {
  createLimiter,
  type Decision,
  type FailurePolicy,
  type Limiter,
  type PlansInput,
  type Store,
} from '../../src/index.js'
import { BILLED, BillsInFault } from './bills-in-fault.js'
import { inputOf, type Kind } from './limits.js'
import { Random } from '@tollgate/testing'
import { Case } from './tally.js'
import { RulesInFault } from './rules-in-fault.js'
import { answered, eventually } from './within.js'

const DAY_MS = 86_400_000
const DEADLINE_MS = 60

export type Phase = 'before' | 'during' | 'after'

export interface FaultWorld {
  /** Makes the store that meets the fault. */
  store(prefix: string): Store
  /** Makes a store with the same counts over a connection without the fault. */
  direct(prefix: string): Store
  /** Whether the fault loses all counts. */
  readonly losesData: boolean
  /** Whether no request reaches the server during the fault. */
  readonly isUnsent: boolean
  /** Whether a part of the store never comes back. */
  readonly staysDown: boolean
}

/** Units that a subject has used: at least `least`, at most `most`. */
interface Books {
  least: number
  most: number
  /** Units admitted by the store, less those of all refunds that may have been done. */
  admitted: number
}

const QUOTAS = { large: 60, small: 4 } as const
type Size = keyof typeof QUOTAS

export class FaultPlay {
  readonly case: Case
  readonly #random: Random
  readonly #world: FaultWorld
  readonly #prefix: string
  readonly #limiter: Limiter
  readonly #direct: Limiter
  readonly #books = new Map<string, Books>()
  readonly #made: { decision: Decision; ids: string[]; cost: number }[] = []
  readonly #rules: RulesInFault
  readonly #bills: BillsInFault
  #owed = 0

  constructor(seed: number, prefix: string, world: FaultWorld) {
    this.case = new Case(seed)
    this.#random = new Random(seed)
    this.#world = world
    this.#prefix = `${prefix}:${seed}`
    const kind = this.#random.pick<Kind>(['log', 'fixed', 'bucket'])
    const plans = Object.fromEntries(
      Object.entries(QUOTAS).map(([name, quota]) => {
        return [name, inputOf({ kind, quota, windowMs: DAY_MS, burst: quota }, 'day')]
      }),
    )
    const onStoreFailure = this.#random.pick<FailurePolicy>(['open', 'closed', 'local', 'local'])
    const all: PlansInput = { ...plans, billed: BILLED }
    const options = { plans: all, defaultPlan: 'small', local: { instances: 1 }, warnings: false } as const
    this.#limiter = createLimiter({
      ...options,
      store: world.store(this.#prefix),
      onStoreFailure,
      deadlineMs: DEADLINE_MS,
    })
    this.#direct = createLimiter({
      ...options,
      store: world.direct(this.#prefix),
      onStoreFailure: 'closed',
      deadlineMs: 2000,
    })
    this.#rules = new RulesInFault(this.case, this.#limiter, this.#direct)
    this.#bills = new BillsInFault(this.case, this.#limiter, this.#direct)
  }

  /** Sends five rounds of requests and refunds. */
  async phase(phase: Phase): Promise<void> {
    if (phase === 'during') this.case.faults += 1
    if (phase === 'after' && this.#world.losesData) this.#forget()
    await this.#rules.phase(phase)
    await this.#bills.phase(phase)
    for (let tick = 0; tick < 5; tick += 1) {
      const count = this.#random.int(1, 4)
      await Promise.all(Array.from({ length: count }, () => this.#consume(phase)))
      if (this.#random.chance(0.5)) await this.#refund(phase)
      await this.#rules.consume()
      await this.#bills.consume(this.#random.pick([15, 20, 28]), phase !== 'during' || !this.#world.isUnsent)
    }
  }

  /** Waits until the store decides again. */
  async recovered(): Promise<void> {
    await eventually(async () => {
      const decision = await answered(this.#limiter.consume({ id: 'warm', plan: 'large' }), 'a request')
      return decision.source === 'store'
    })
  }

  #forget(): void {
    this.#made.splice(0)
    for (const books of this.#books.values()) books.least = 0
    this.#bills.forget()
  }

  async #consume(phase: Phase): Promise<void> {
    const ids = this.#random.some(['large-a', 'large-b', 'small-a', 'small-b'], this.#random.int(1, 2))
    const cost = this.#random.int(1, 2)
    const who = ids.map((id) => ({ id, plan: id.split('-')[0] as Size }))
    const decision = await answered(this.#limiter.consume(who, { cost }), 'a request')
    this.case.check(9, true, () => '')
    this.case.decisions += 1
    if (!decision.allowed) this.case.denials += 1
    for (const id of ids) this.#enter(id, decision, cost, phase)
    if (decision.source === 'local' && decision.allowed) this.#owed += cost * ids.length
    this.#made.push({ decision, ids, cost })
  }

  #enter(id: string, { allowed, source }: Decision, cost: number, phase: Phase): void {
    const books = this.#booksOf(id)
    const wasSent = phase !== 'during' || !this.#world.isUnsent
    if (source === 'store' || source === 'cache') {
      if (!allowed) return
      books.least += cost
      books.most += cost
      books.admitted += cost
    } else {
      // The reply never came, so the store may have counted the request. What `local` let in is charged later as well.
      const isOwed = source === 'local' && allowed
      if (isOwed) books.least += cost
      books.most += (isOwed ? cost : 0) + (wasSent ? cost : 0)
    }
  }

  /** Refunds a decision of the store twice at the same time: the second refund must give nothing. */
  async #refund(phase: Phase): Promise<void> {
    const all = this.#made.filter(({ decision }) => decision.allowed && decision.source === 'store')
    if (all.length === 0) return
    const made = this.#random.pick(all)
    this.#made.splice(this.#made.indexOf(made), 1)
    const [first, second] = await Promise.all([
      answered(this.#limiter.refund(made.decision), 'a refund'),
      answered(this.#limiter.refund(made.decision), 'a refund'),
    ])
    this.case.check(11, !second, () => 'a refund was given twice')
    if (first) this.case.refunds += 1
    for (const id of made.ids) {
      const books = this.#booksOf(id)
      // A refund that returned false may still have been done: its reply may be lost.
      books.least -= made.cost
      if (first) books.most -= made.cost
      books.admitted -= made.cost
    }
    // On a busy machine a request may miss its deadline without a fault. Then a store error was counted.
    const isExcused = phase !== 'before' || this.#limiter.stats().storeErrors > 0
    this.case.check(11, first || isExcused, () => 'a refund was refused without a fault')
  }

  #booksOf(id: string): Books {
    const books = this.#books.get(id) ?? { least: 0, most: 0, admitted: 0 }
    this.#books.set(id, books)
    return books
  }

  /** Waits until nothing is under way and all owed units are charged, then compares the store with the books. */
  async close(): Promise<void> {
    if (!this.#world.staysDown) {
      await eventually(() => {
        const { reconciled: settled, pending } = this.#limiter.stats()
        return pending === 0 && settled.units + settled.dropped >= this.#owed + this.#bills.owed
      })
    }
    const { dropped } = this.#limiter.stats().reconciled
    for (const [id, books] of this.#books) await this.#audit(id, books, dropped)
    // The list of rules may be on the shard that stays down.
    if (!this.#world.staysDown) {
      await this.#rules.audit()
      await this.#bills.audit(dropped, this.#world.losesData)
    }
    const all = [this.#limiter, this.#direct].map((limiter) =>
      answered(limiter.close(), 'the close of a limiter'),
    )
    await Promise.all(all)
  }

  async #audit(id: string, { least, most, admitted }: Books, dropped: number): Promise<void> {
    const plan = id.split('-')[0] as Size
    const quota = QUOTAS[plan]
    const times = this.#world.losesData ? 2 : 1
    this.case.check(1, admitted <= quota * times, () => `${admitted} of ${quota} admitted by the store`)
    const [from, to] = [Math.max(Math.min(least, quota) - dropped, 0), Math.min(most, quota)]
    let used = -1
    let source = ''
    const look = async (): Promise<boolean> => {
      const decision = await answered(this.#direct.peek({ id, plan }), 'a look')
      source = decision.source
      used = quota - (decision.limits[0]?.remaining ?? NaN)
      return source === 'store' && used >= from && used <= to
    }
    await eventually(look)
    // A shard that stays down cannot be checked.
    if (source !== 'store' && this.#world.staysDown) return
    const says = (): string => `${used} of ${quota} used by ${id}, not ${from}..${to} (${this.#prefix})`
    this.case.check(2, used >= from && used <= to, says)
    this.case.check(11, used >= from && used <= to, says)
  }
}
