// Two processes, a store and what is under way between them: what can happen next, and what must hold after it.
import type { LeaseUse } from '../../../src/features/leases/lease-holder.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Outcome, RefundRequest } from '../../../src/stores/contract.js'
import { refundOf } from '../../../src/stores/receipts.js'
import { History, type Use } from './checker-history.js'
import { Network } from './checker-network.js'
import { RARE, type Rare, type WorldOptions } from './checker-options.js'
import { CheckedProcess, type Message } from './checker-process.js'
import { CheckedStore, isAllowed, requestFor } from './checker-store.js'
import { renamed } from '../../support/aged-times.js'
import { tryOut } from './try-out.js'
import { Violation, type CheckedWorld } from '../../support/checker.js'

/** The time between two steps of the clock, in ms. */
const TICK_MS = 10
const TICK_US = TICK_MS * 1000
/** In µs; at the beginning of windows of 80 ms. */
const BEGIN_US = 1_770_000_000_000_000

interface Made {
  readonly use: Use
  readonly by: number
  readonly leased?: LeaseUse
  readonly outcome?: Outcome
}

const PROCESSES = [0, 1]

export class World implements CheckedWorld {
  readonly #options: WorldOptions
  readonly #store: CheckedStore
  readonly #network: Network
  readonly #processes: readonly CheckedProcess[]
  readonly #history: History
  #nowMs = 0
  #set: LimitSet
  #rareLeft: number
  #wentBack = false
  /** What was let in last, and can be given back. */
  #newest: Made | undefined
  #newestLeased: Made | undefined
  /** Leases from before a loss, which law 1 excepts. */
  #excepted = new Set<string>()

  constructor(options: WorldOptions) {
    this.#options = options
    this.#set = options.sets[0]
    this.#rareLeft = options.rare
    this.#store = new CheckedStore(BEGIN_US, options.isCompared === true)
    this.#network = new Network(this.#store, options.flaw)
    this.#history = new History(this.#set)
    this.#processes = PROCESSES.map((i) => new CheckedProcess(i, this.#set, options.unitsPerMs))
  }

  /** All that may happen next. */
  actions(): string[] {
    const { kinds = RARE, atOnce = [] } = this.#options
    const apart = this.#processes.filter(({ number }) => !atOnce.includes(number))
    const each = (what: string, which: readonly unknown[]): string[] => which.map((_, i) => `${what} ${i}`)
    const heard = this.#processes.filter((process) => this.#network.answerTo(process))
    const common = [
      ...each('ask', PROCESSES),
      'tick',
      ...each('renew', PROCESSES),
      ...apart.flatMap(({ number }) => [`send ${number}`, `back ${number}`]),
      ...each('deliver', this.#network.underWay),
      ...heard.map(({ number }) => `hear ${number}`),
    ]
    return this.#rareLeft > 0 ? [...common, ...kinds.flatMap((kind) => this.#rare(kind))] : common
  }

  /** @returns whether anything was there to happen */
  do(action: string): boolean {
    const [what = '', which = '0'] = action.split(' ')
    if ((RARE as readonly string[]).includes(what)) this.#rareLeft -= 1
    return this.#happens(what, Number(which))
  }

  /** What must hold at any time. */
  judge(): void {
    const over = this.#history.over()
    if (over) throw new Violation('law 1', over)
    const known = this.#processes.flatMap((process) => process.servable(this.#nowMs))
    const held = known.reduce((sum, { id, left }) => sum + (this.#excepted.has(id) ? 0 : left), 0)
    const { limits } = this.#store.peek(this.#set)
    const leased = Math.min(...limits.map((limit) => limit.leased ?? 0))
    if (leased < held)
      throw new Violation('on lease', `processes hold ${held}, and the store knows of ${leased}`)
  }

  /** All that is there, in one text: two worlds with the same have the same future. */
  text(): string {
    const parts = this.#processes.map((process) => process.text(this.#nowMs))
    // What only an unlikely thing would read is left out when none can happen any more.
    const made = (this.#rareLeft > 0 ? [this.#newest, this.#newestLeased] : []).map((one) => {
      return one && [this.#nowMs * 1000 - one.use.at, one.by, one.leased?.lease.state(), one.outcome?.limits]
    })
    const excepted = [...this.#excepted].filter((id) => parts.some((part) => part.includes(id)))
    const whole = JSON.stringify([
      ...[
        this.#store.text(),
        this.#history.text(this.#nowMs * 1000),
        parts,
        this.#network.text(this.#nowMs, this.#rareLeft > 0),
      ],
      ...[made, this.#rareLeft, this.#wentBack, this.#set === this.#options.sets[0], excepted, this.#phase()],
    ])
    return renamed(whole)
  }

  /** Laws 3, 4 and 8, by doing what they speak of. Nothing can be done with the world afterwards. */
  end(): void {
    // What a clock that went back does to waits is not of leases: until it has caught up, no time passes.
    tryOut(this.#store, this.#set, { flaw: this.#options.flaw, waits: !this.#wentBack })
  }

  #rare(kind: Rare): string[] {
    if (kind === 'crash') return PROCESSES.map((i) => `crash ${i}`)
    if (kind === 'lose') return this.#network.underWay.map((_, i) => `lose ${i}`)
    if (kind === 'fail')
      return this.#processes.flatMap(({ awaited, number }) => (awaited ? [`fail ${number}`] : []))
    if (kind === 'again') return this.#network.delivered ? [kind] : []
    if (kind === 'refund') {
      const older = this.#newestLeased === this.#newest ? undefined : this.#newestLeased
      return [...(this.#newest ? ['refund 0'] : []), ...(older ? ['refund 1'] : [])]
    }
    return [kind]
  }

  #happens(what: string, i: number): boolean {
    const process = this.#processes[i] as CheckedProcess
    const network = this.#network
    const now = this.#nowMs
    if (what === 'ask') return this.#ask(process)
    if (what === 'send') return network.post(process.send(now))
    if (what === 'back') return network.post(process.giveBack(now))
    if (what === 'deliver') return this.#deliver(i)
    if (what === 'hear') return network.hear(process, now)
    if (what === 'again') return this.#stir(network.delivered) && network.again()
    if (what === 'refund') return this.#refund(i === 1 ? this.#newestLeased : this.#newest)
    if (what === 'renew')
      return (
        network.post(process.send(now)) &&
        this.#deliver(network.underWay.length - 1) &&
        network.hear(process, now)
      )
    if (what === 'lose') network.underWay.splice(i, 1)
    else if (what === 'fail') process.fail(now)
    else if (what === 'crash') process.crash()
    else this.#change(what)
    return true
  }

  #deliver(i: number): boolean {
    return this.#stir(this.#network.underWay[i]) && this.#network.deliver(i)
  }

  /** A late message goes by the plan of its time, as do the states until they are written again. */
  #stir(message: Message | undefined): boolean {
    const set = message?.request.parts[0]?.set
    if (set && set !== this.#set) this.#history.stir(set)
    return message !== undefined
  }

  #change(what: string): void {
    if (what === 'tick') {
      this.#nowMs += TICK_MS
      this.#pass(TICK_US)
    } else if (what === 'forward') {
      this.#lose()
      this.#pass(3 * TICK_US)
    } else if (what === 'backward') {
      this.#store.now -= 2 * TICK_US
      this.#wentBack = true
    } else if (what === 'reset') {
      this.#processes[0]?.forget(this.#nowMs)
      this.#lose()
      this.#store.reset()
    } else if (what === 'plan') {
      const [first, second] = this.#options.sets
      this.#set = this.#set === first ? second : first
      this.#history.changePlan(this.#set)
      for (const process of this.#processes) process.changePlan(this.#set)
    } else throw new Error(`nobody knows ${what}`)
  }

  #pass(us: number): void {
    this.#store.now += us - 1
    if (this.#options.flaw === 'an end is not counted') this.#network.forgetAll()
    this.#store.now += 1
  }

  #ask(process: CheckedProcess): boolean {
    const { flaw } = this.#options
    const lateMs = flaw === 'serves after the end' ? 5 * TICK_MS : 0
    const by = process.number
    const leased = process.serve(this.#nowMs - lateMs)
    if (leased) {
      const use = this.#excepted.has(leased.lease.id) ? undefined : this.#use()
      this.#newest = this.#newestLeased = use && { use, by, leased }
      return true
    }
    const before = JSON.stringify(this.#store.peek(this.#set))
    const outcome = this.#store.consume(requestFor(this.#set))
    if (isAllowed(outcome)) {
      this.#newest = { use: this.#use(), by, outcome }
      return true
    }
    if (flaw === 'a denial takes') this.#store.force(this.#set)
    if (JSON.stringify(this.#store.peek(this.#set)) !== before)
      throw new Violation('law 2', 'a denial changed something')
    return true
  }

  #use(): Use {
    return this.#history.use(this.#nowMs * 1000)
  }

  #refund(made: Made | undefined): boolean {
    if (!made) return false
    if (made === this.#newestLeased) this.#newestLeased = undefined
    if (made === this.#newest) this.#newest = undefined
    const request = this.#refundOf(made)
    if (request === undefined) return false
    if (request === true || this.#store.refund(request)) this.#history.undo(made.use)
    if (request !== true && this.#options.flaw === 'refunds twice') this.#store.refund(request)
    return true
  }

  #refundOf({ use, leased, outcome }: Made): true | RefundRequest | undefined {
    if (leased) return leased.giveBack(1, this.#nowMs)
    return outcome && refundOf(requestFor(use.set), outcome, 1)
  }

  /** The store no longer knows what was used, nor what is on lease. */
  #lose(): void {
    this.#history.lose()
    this.#newest = this.#newestLeased = undefined
    this.#excepted = new Set(this.#network.wished)
  }

  /** Where in its window the store is, for an algorithm whose windows begin at multiples of their length. */
  #phase(): number {
    const aligned = this.#set.limits.filter(({ algorithm }) => algorithm === 'sliding-window')
    return this.#store.now % Math.max(1, ...aligned.map(({ paramsAt }) => paramsAt(0)['windowUs'] ?? 1))
  }
}
