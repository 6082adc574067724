import type { Fallback } from '../../failure/fallback.js'
import type { FastPathHost, LeaseListener } from '../../features/fast-path.js'
import type { Request } from '../../requests/request.js'
import type { Outcome } from '../../stores/contract.js'
import { sendInBackground } from './background-request.js'
import type { StoreAccess } from './store-access.js'
import type { Telling } from '../report/telling.js'

/** Sends the fast paths' own requests to the store, and reports what they did. */
export class PathHost implements FastPathHost {
  readonly told: LeaseListener
  readonly #store: StoreAccess
  readonly #fallback: Fallback
  readonly #telling: Telling

  constructor(store: StoreAccess, fallback: Fallback, telling: Telling) {
    this.#store = store
    this.#fallback = fallback
    this.#telling = telling
    this.told = telling
  }

  send(request: Request, onAnswer: (outcome: Outcome | undefined) => void): void {
    sendInBackground(this.#store, this.#telling, request, (outcome, sentAtMs) => {
      if (outcome) this.#fallback.note(request, outcome, sentAtMs)
      onAnswer(outcome)
    })
  }
}
