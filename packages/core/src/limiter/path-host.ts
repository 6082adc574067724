import type { Fallback } from '../failure/fallback.js'
import type { FastPathHost, LeaseListener } from '../fast-path/fast-path.js'
import type { Request } from '../requests/request.js'
import type { Outcome } from '../stores/contract.js'
import { isOutcome } from '../stores/outcome-check.js'
import type { StoreAccess } from './store-access.js'
import type { Telling } from './telling.js'

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
    // Of an open breaker users have been told.
    if (this.#store.refusal(request.shard)) return onAnswer(undefined)
    void this.#store.consume(request, (_, given, sentAtMs) => {
      const isAnswer = isOutcome(given, request)
      if (isAnswer) this.#fallback.note(request, given, sentAtMs)
      else this.#telling.errorOf(given)
      onAnswer(isAnswer ? given : undefined)
    })
  }
}
