import type { Fallback } from '../../failure/fallback.js'
import type { FastPaths } from '../../features/fast-path.js'
import type { InFlight } from '../../features/in-flight/in-flight.js'
import type { Request } from '../../requests/request.js'
import type { SubjectKeys } from '../../requests/request-builder.js'
import { refundByKey } from '../../stores/receipts.js'
import type { Backing } from '../pipeline/backing.js'
import { closedError } from '../pipeline/store-access.js'

export interface ByKeyOptions extends Pick<Backing, 'store' | 'giveBacks'> {
  readonly fallback: Fallback
  readonly fastPaths: FastPaths
  readonly inFlight: InFlight
}

/** What is done to the counts of a subject without a decision. */
export class ByKey {
  readonly #options: ByKeyOptions
  #isOver = false

  constructor(options: ByKeyOptions) {
    this.#options = options
  }

  /** Nothing is done from now on. */
  end(): void {
    this.#isOver = true
  }

  /**
   * Gives up to so many units of every limit of a request back, those that have counted longest. Returns whether there were
   * any; false also where the store has not answered yet.
   */
  async refund(request: Request, units: number): Promise<boolean> {
    if (this.#isOver) return false
    const { giveBacks } = this.#options
    const steps = (request.steps ?? [request]).filter(({ parts }) => parts.length > 0)
    const given = await Promise.all(steps.map((step) => giveBacks.give(refundByKey(step, units))))
    return given.includes('given')
  }

  /**
   * Forgets all counts. Returns whether there were any.
   *
   * @throws {StoreError} when the store failed
   */
  async reset(subject: SubjectKeys): Promise<boolean> {
    const { keys } = subject
    if (this.#isOver) throw closedError()
    const { store, fallback, fastPaths } = this.#options
    // Before, too: nothing may be served that the store no longer counts.
    fastPaths.forget('reset', keys)
    const onLate = (): void => {
      fallback.forget(keys)
      this.#forgotten(keys)
    }
    try {
      const wasThere = await store.reset(subject, onLate)
      fallback.forget(keys)
      return wasThere
    } finally {
      this.#forgotten(keys)
    }
  }

  /** Called when the store has forgotten some keys, or may have. */
  #forgotten(keys: readonly string[]): void {
    const { fastPaths, inFlight } = this.#options
    fastPaths.forget('reset', keys)
    inFlight.declareAgain(keys)
  }
}
