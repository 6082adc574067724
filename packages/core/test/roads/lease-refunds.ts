// Refunds and settles decisions of leasing processes, and checks the answers.
import type { Decision } from '../../src/index.js'
import type { LeaseCharge } from './lease-oracle.js'
import type { LeasePlay } from './lease-play.js'
import type { LeasingProcess } from './lease-processes.js'
import type { ProcessAsk } from './lease-schedule.js'
import type { Who } from './schedule.js'
import { answered } from './within.js'

interface Made {
  readonly ask: ProcessAsk
  readonly decision: Decision
  readonly charge: LeaseCharge | undefined
  /** Units that the request holds now. */
  taken: number
  isSettled: boolean
  /** Whether its subject was reset since, or its process is gone. */
  isStale: boolean
}

export class LeaseRefunds {
  readonly #play: LeasePlay
  readonly #made: Made[] = []

  constructor(play: LeasePlay) {
    this.#play = play
  }

  remember(ask: ProcessAsk, decision: Decision, charge: LeaseCharge | undefined): void {
    this.#made.push({ ask, decision, charge, taken: charge ? ask.cost : 0, isSettled: false, isStale: false })
  }

  forget({ id, kind }: Who): void {
    for (const made of this.#made) {
      if (made.ask.who.some((one) => one.id === id && one.kind === kind)) made.isStale = true
    }
  }

  forgetProcess(process: number): void {
    for (const made of this.#made) if (made.ask.process === process) made.isStale = true
  }

  async refund(back: readonly number[], isTwice: boolean): Promise<void> {
    const all = back.flatMap((one) => this.#at(one))
    for (const made of isTwice ? all.flatMap((one) => [one, one]) : all) {
      const isGiven = await answered(this.#limiter(made).refund(made.decision), 'a refund')
      this.#account(made, made.taken, isGiven)
      if (isGiven) made.taken = 0
    }
    const [first] = all
    if (first) await this.#play.look(first.ask, 11)
  }

  async settle(back: number, cost: number): Promise<void> {
    const [made] = this.#at(back)
    if (!made) return
    const { charge, taken, isSettled } = made
    const before = charge?.lines.map((line) => this.#play.oracle.room(line, this.#play.nowUs).most) ?? []
    const total = await answered(this.#limiter(made).settle(made.decision, cost), 'a settlement')
    if (charge && !isSettled && cost < taken) this.#account(made, taken - cost, total === cost)
    else if (charge && !isSettled) {
      const most = Math.min(cost - taken, ...before)
      const holds = total >= taken && total - taken <= most
      this.#play.case.check(11, holds, () => `settled ${total - taken} more, at most ${most}`)
      if (total > taken) this.#takeMore(charge, total - taken)
    } else this.#play.case.check(11, total === taken, () => `settled twice: ${total}, not ${taken}`)
    made.taken = total
    made.isSettled = made.isSettled || taken > 0
    await this.#play.look(made.ask, 11)
  }

  #takeMore({ ask, lines }: LeaseCharge, units: number): void {
    const { oracle, judge, nowUs } = this.#play
    oracle.take(ask, { lines, at: nowUs, units, isLeased: false })
    judge.neverOver(lines, nowUs)
  }

  #at(back: number): Made[] {
    const made = this.#made.at(-1 - back)
    return made && !made.isStale ? [made] : []
  }

  #limiter({ ask }: Made): LeasingProcess['limiter'] {
    return (this.#play.processes[ask.process] as LeasingProcess).limiter
  }

  /** Law 11: a refund gives units back once. What a lease served, it need not: the lease may have ended. */
  #account(made: Made, units: number, isGiven: boolean): void {
    const { charge, isSettled, ask } = made
    const { oracle, nowUs, case: given } = this.#play
    made.isSettled = true
    const counts = charge && !isSettled && units > 0 ? oracle.counts(charge, nowUs) : []
    const can = counts.some(({ most }) => most)
    const must = !charge?.isLeased && counts.some(({ least }) => least)
    const says = (): string =>
      `refund of ${units} said ${isGiven}: ${JSON.stringify({ isSettled, charge, counts })}`
    given.check(11, isGiven ? can : !must, says)
    if (!charge || !isGiven || !can) return
    given.refunds += 1
    oracle.give(charge, units, nowUs)
    if (!charge.isLeased) return
    this.#play.met.refunds += 1
    this.#play.cameBack(ask, units)
  }
}
