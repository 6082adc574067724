import type { Warn } from '../../base/warnings.js'
import { Fallback } from '../../failure/fallback.js'
import { Deadlines } from '../../failure/guard/deadlines.js'
import type { LocalOptions } from '../../failure/local/local-limiter.js'
import { GiveBacks } from '../../failure/outbox/outbox.js'
import type { FastPathHost, LeaseListener } from '../../features/fast-path.js'
import type { FailurePolicyOption } from '../../plans/failure-policy.js'
import type { Request } from '../../requests/request.js'
import type { Store, StoreRequest, Outcome } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { Holds } from '../holds/holds.js'
import type { Reporter } from '../report/reporter.js'
import { StoreAccess, type StoreAccessOptions } from './store-access.js'

export interface BackingOptions {
  readonly store: Store
  readonly onStoreFailure: FailurePolicyOption
  readonly local: LocalOptions
  readonly deadlineMs: number
  /** What all keys begin with. */
  readonly begin: string
  readonly warn: Warn
}

/** What decides requests when no fast path does. */
export interface Backing {
  readonly store: StoreAccess
  /** Decides when the store cannot. */
  readonly fallback: Fallback
  readonly giveBacks: GiveBacks
  readonly holds: Holds
  /**
   * Of all calls and of requests in several steps. One list, since a request must end before a call that it made later:
   * else its next step would be sent.
   */
  readonly deadlines: Deadlines
}

export interface BackingListener {
  readonly onChanged: StoreAccessOptions['onChanged']
  /** Called when a shard answers again, before it decides requests. */
  readonly onRecovery: (shard: number) => Promise<void>
  /** Called with requests that the store decided after the deadline. */
  readonly onLate: (batch: readonly StoreRequest[]) => void
}

/**
 * Makes the store, its fallback and the refunds, and connects them with each other.
 *
 */
export function makeBacking(
  options: BackingOptions,
  reporter: Reporter,
  { onChanged, onRecovery, onLate }: BackingListener,
): Backing {
  const { onStoreFailure, local } = options
  const deadlines = new Deadlines(options.deadlineMs)
  const store: StoreAccess = new StoreAccess(options.store, {
    deadlines,
    onFailure: (error, requests) => reporter.storeError(error, requests),
    onLate: (batch, answers) => {
      fallback.late(batch, answers)
      holds.late(batch, answers)
      onLate(batch)
    },
    onChanged,
    onBreaker: (state, shard, error) => reporter.breaker({ state, shard, error }),
    onFailedProbe: (error, isNews) => reporter.failedProbe(error, isNews),
    recover: async (shard) => {
      await Promise.all([giveBacks.recover(shard), fallback.recover(shard), onRecovery(shard)])
    },
  })
  const giveBacks = new GiveBacks(store)
  const fallback: Fallback = new Fallback({
    policy: onStoreFailure,
    local,
    begin: options.begin,
    warn: options.warn,
    store,
    giveBack: async (request) => (await giveBacks.give(request)) === 'given',
    onReconciled: (reconciled, shard) => reporter.reconciled(reconciled, shard),
  })
  const host = new PathHost(store, fallback, reporter)
  const holds: Holds = new Holds({
    ...{ host, reporter, canHold: options.store.holds ?? false },
    giveBack: (request) => giveBacks.give(request),
  })
  return { store, fallback, giveBacks, holds, deadlines }
}

/** Sends the fast paths' own requests to the store, and reports what they did. */
export class PathHost implements FastPathHost {
  readonly told: LeaseListener
  readonly #store: StoreAccess
  readonly #fallback: Fallback
  readonly #reporter: Reporter

  constructor(store: StoreAccess, fallback: Fallback, reporter: Reporter) {
    this.#store = store
    this.#fallback = fallback
    this.#reporter = reporter
    this.told = reporter
  }

  send(request: Request, onAnswer: (outcome: Outcome | undefined) => void): void {
    sendInBackground(this.#store, this.#reporter, request, (outcome, sentAtMs) => {
      if (outcome) this.#fallback.note(request, outcome, sentAtMs)
      onAnswer(outcome)
    })
  }
}

/**
 * Sends a request that no caller waits for. `onAnswer` gets no outcome if there was none: an error is reported here.
 *
 * @param onAnswer also gets when its batch was sent, in ms since the process started
 */
export function sendInBackground(
  store: StoreAccess,
  reporter: Reporter,
  request: Request,
  onAnswer: (outcome: Outcome | undefined, sentAtMs: number) => void,
): void {
  // Of an open breaker users have been told.
  if (store.refusal(request.shard)) return onAnswer(undefined, 0)
  void store.consume(request, (_, given, sentAtMs) => {
    const isAnswer = isOutcome(given, request)
    if (!isAnswer) reporter.invalidAnswerError(given)
    onAnswer(isAnswer ? given : undefined, sentAtMs)
  })
}
