import type { Answer, Outcome, RefundRequest, StoreRequest } from '../stores/contract.js'
import type { Request, Verdict } from './request.js'

/**
 * Why what is known about some keys no longer holds:
 * - `changed`: units came back to them, or were charged.
 * - `resetting`: they are about to be reset.
 * - `reset`: they were reset. `perhaps-reset`: the store failed while resetting them.
 * - `unblocked`: their block was ended, and their denials were forgotten.
 * - `renewed`: a limit of the first of them begins afresh. The others are its marks.
 * - `plans`: the plans were replaced. `rules`: a rule about their subject was set or lifted.
 */
export type ForgetReason =
  | 'changed'
  | 'unblocked'
  | 'resetting'
  | 'reset'
  | 'perhaps-reset'
  | 'renewed'
  | 'plans'
  | 'rules'

/** A refund's result. `gone`: the units had come back by themselves. `unknown`: the store has not answered yet. */
export type GivenBack = 'given' | 'gone' | 'unknown'

/** The result of one request's refunds together. */
export function combineGivenBack(all: readonly GivenBack[]): GivenBack {
  return all.includes('unknown') ? 'unknown' : all.includes('given') ? 'given' : 'gone'
}

/** What a feature can ask of the pipeline. */
export interface FeatureHost<Events = object> {
  /** Whether the store's answers are values, not promises. */
  readonly answersAtOnce: boolean
  /** Sends a request that no caller waits for. `onAnswer` gets no outcome if the store gave none. */
  send(request: Request, onAnswer: (outcome: Outcome | undefined) => void): void
  /** Charges a shard, even while it is not asked for decisions. */
  charge(batch: readonly StoreRequest[], onAnswers: (answers: readonly Answer[]) => void): void
  /** Whether a shard is not asked for decisions now. */
  isRefused(shard: number): boolean
  /** Gives back units that the store took. Repeats until the store has answered. Never rejects. */
  refund(request: RefundRequest): Promise<GivenBack>
  /** Emits an event to users. */
  emit<Name extends keyof Events>(event: Name, change: Events[Name]): void
}

/**
 * A part of the limiter that answers, changes or learns from requests in this process. All hooks are optional. They must be
 * quick and never throw. The pipeline gathers them once, and calls them in the order of its list.
 */
export interface Feature {
  /**
   * The verdict, if it is known without the store.
   *
   * @param isPeek whether the caller only looks. The answer must then show everything that the store knows
   */
  answer?(request: Request, isPeek: boolean): Verdict | undefined
  /** The request as it is sent, with what the feature adds. */
  prepare?(request: Request): Request
  /**
   * Called with the store's outcome for any caller's request. Not called if answers are values, since such a store is memory.
   *
   * @param sentAtMs when the request's batch was sent, in ms since the process started (`elapsedMs`). The outcome is no
   *                 older. If `forget` was called after that, the outcome may be from before the change
   */
  learn?(request: Request, outcome: Outcome, sentAtMs: number, isPeek: boolean): void
  /**
   * Called with what the store said of a decided request, if its plan is not plain, and of a lease. Also if answers are values. Not called
   * for peeks, and not for what went back because a later step denied.
   */
  note?(request: Request, outcome: Outcome): void
  /**
   * Called with the store's outcome for a request that it denied, or to which it gave less than was asked for. If units
   * that the feature took in advance are the cause, it gives them back.
   *
   * @returns a promise that resolves when they are back and never rejects; undefined if the request would be denied again
   */
  makeRoom?(request: Request, outcome: Outcome): Promise<unknown> | undefined
  /** Called when the store's answer to a request was not an outcome. */
  failed?(request: Request): void
  /** Called when the store decided requests late: they had been answered without it. */
  late?(batch: readonly StoreRequest[], answers: readonly Answer[]): void
  /** Gives a verdict's units back. Never rejects. Returns undefined if the feature does not have them. */
  giveBack?(verdict: Verdict, units: number): Promise<GivenBack> | undefined
  /** Called when what is known about these keys may be wrong; without `keys`, about all keys. */
  forget?(reason: ForgetReason, keys?: readonly string[]): void
  /** Called when a shard answers again. It is asked for decisions only after `onDone` was called. */
  recover?(shard: number, onDone: () => void): void
  /** Begins nothing new. Called twice as the limiter closes: before and after the requests that are under way. */
  stop?(): void
  /** Sends what is left to send, and nothing after that. Called after the last request, one feature after another. */
  end?(): void | Promise<void>
  /** Its part of the limiter's stats. */
  stats?(): object
}
