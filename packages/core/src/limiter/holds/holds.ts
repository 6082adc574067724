import { ConfigError } from '../../base/errors.js'
import { elapsedMs } from '../../base/timers.js'
import type { Timing } from '../../base/clocks.js'
import type { PathHost } from '../pipeline/backing.js'
import type { Reporter } from '../report/reporter.js'
import type { Request } from '../../requests/request.js'
import type { Answer, RefundRequest, StoreRequest } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { HoldReports, refundOfTaken } from './hold-reports.js'

export interface HoldsOptions {
  readonly host: PathHost
  readonly reporter: Reporter
  /** Whether the store can hold units. */
  readonly canHold: boolean
  /** Gives back units that the store took. Never rejects. */
  readonly giveBack: (request: RefundRequest) => Promise<unknown>
  /** Default: this process's. */
  readonly timing?: Timing | undefined
}

/** Units that the store holds for requests of this process. */
export class Holds {
  readonly reports: HoldReports
  readonly #options: HoldsOptions

  constructor(options: HoldsOptions) {
    const { host, timing } = options
    this.reports = new HoldReports((request, onAnswer) => host.send(request, onAnswer), timing)
    this.#options = options
  }

  /** @throws {ConfigError} when the store cannot hold units */
  need(): void {
    if (this.#options.canHold) return
    const remedy = 'use redisStore or memoryStore, or consume and settle'
    throw new ConfigError('store', `this store makes no reservations: ${remedy}`)
  }

  /** Requests whose units the store held after they were answered otherwise: nobody uses these. */
  late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    batch.forEach((request, i) => {
      const answer: unknown = answers[i]
      if (!request.hold || !isOutcome(answer, request)) return
      if (!answer.hold || answer.hold.endsInUs === 0) return
      const step = request as Request
      this.reports.cancel(step)
      const taken = refundOfTaken(step, answer, step.cost)
      if (taken) void this.#options.giveBack(taken)
    })
  }

  /** Counts a reservation. Returns what counts its end. */
  reserved(lengthMs: number): (how: 'committed' | 'cancelled') => void {
    return this.#options.reporter.reserved(elapsedMs() + lengthMs)
  }
}
