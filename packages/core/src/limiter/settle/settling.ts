import { needCost } from '../../requests/cost.js'
import type { Verdict } from '../../requests/verdict.js'
import type { Decision } from '../decision/decision.js'
import { isReserved, withoutHold } from '../holds/hold-reports.js'
import type { Pipeline } from '../pipeline/pipeline.js'
import { noteTaken, settleDecision, takenBy, type Settlement } from './settlement.js'

/** Sets what requests cost after they were decided: gives units back, takes more, or ends a reservation. */
export class Settling {
  readonly #pipeline: Pipeline

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline
  }

  /** As Limiter.refund. */
  async refund(decision: Decision): Promise<boolean> {
    const settlement = settleDecision(decision, 0, this.#pipeline)
    const given = settlement === undefined ? [] : await this.#pipeline.refund(settlement)
    const isGiven = given.includes('given')
    // What was reserved and has ended by then counts no more.
    const isEnded = given.every((one) => one === 'gone') && settlement?.verdicts.every(isReserved)
    if (isGiven || isEnded) noteTaken(decision, 0)
    return isGiven
  }

  /** As Limiter.settle. */
  async settle(decision: Decision, cost: number): Promise<number> {
    needCost(cost, 0)
    const settlement = settleDecision(decision, cost, this.#pipeline)
    if (settlement) noteTaken(decision, await this.#settle(settlement, cost))
    return takenBy(decision)
  }

  /** Resolves to the units that the request has taken in all. */
  async #settle(settlement: Settlement, cost: number): Promise<number> {
    const { request, verdicts, units } = settlement
    if (verdicts.some(isReserved)) return this.#commit(settlement, cost)
    if (units > 0) return this.#settleDown(settlement, cost)
    return cost === request.cost ? cost : request.cost + (await this.#takeMore(settlement, cost))
  }

  /** Unless every step gave its units back, the old cost is reported: one of the subjects may still hold it. */
  async #settleDown(settlement: Settlement, cost: number): Promise<number> {
    const given = await this.#pipeline.refund(settlement)
    return given.includes('given') && !given.includes('unknown') ? cost : settlement.request.cost
  }

  #takeMore({ request }: Settlement, cost: number): Promise<number> {
    return this.#pipeline.takeMore(withoutHold(request), cost - request.cost)
  }

  async #commit(settlement: Settlement, cost: number): Promise<number> {
    const { request, verdicts, units } = settlement
    const used = request.cost - units
    const counted = await Promise.all(verdicts.map((verdict) => this.#count(settlement, verdict, used)))
    const more = cost > request.cost ? await this.#takeMore(settlement, cost) : 0
    return Math.max(...counted) + more
  }

  /** Where a reservation is held no more, its units are free: then as many are taken as fit. */
  async #count({ request }: Settlement, verdict: Verdict, used: number): Promise<number> {
    const { step } = verdict
    if (!isReserved(verdict)) {
      const settlement = { request, verdicts: [verdict], units: step.cost - used }
      return step.cost === used ? used : this.#settleDown(settlement, used)
    }
    const found = await this.#pipeline.holds.reports.settle(verdict, used)
    if (found.includes('unsent')) return 0
    const parts = step.parts.filter((_, i) => found[i] === 'over' || found[i] === 'lost')
    if (used === 0 || parts.length === 0) return used
    return this.#pipeline.takeMore({ ...withoutHold(step), parts }, used)
  }
}
