import { ConfigError } from '../../base/errors.js'
import { elapsedMs } from '../../base/timers.js'
import type { PathHost } from '../path-host.js'
import type { Telling } from '../telling.js'
import { HoldReports } from './hold-reports.js'

/** Units that the store holds for requests of this process. */
export class Holds {
  readonly reports: HoldReports
  readonly #telling: Telling
  readonly #canHold: boolean

  constructor(host: PathHost, telling: Telling, canHold: boolean) {
    this.reports = new HoldReports((request, onAnswer) => host.send(request, onAnswer))
    this.#telling = telling
    this.#canHold = canHold
  }

  /** @throws {ConfigError} when the store cannot hold units */
  need(): void {
    if (this.#canHold) return
    const remedy = 'use redisStore or memoryStore, or consume and settle'
    throw new ConfigError('store', `this store makes no reservations: ${remedy}`)
  }

  /** Counts a reservation. Returns what counts its end. */
  reserved(lengthMs: number): (how: 'committed' | 'cancelled') => void {
    return this.#telling.reserved(elapsedMs() + lengthMs)
  }
}
