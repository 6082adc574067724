import type { Refund } from '../algorithms/implementation.js'
import type { StoreError } from '../base/errors.js'
import type { LimitSet } from '../plans/limit-set.js'
import type { MaybePromise } from '../base/maybe-promise.js'

/** Units asked of one key. */
export interface Ask {
  /** A subject's key, below the store's own prefix. */
  readonly key: string
  readonly set: LimitSet
  /** A whole number of units from 1. */
  readonly cost: number
}

/** Units asked of one subject, and of others with it: all must fit, or nothing is taken. */
export interface StoreRequest extends Ask {
  /** Of other keys, no key twice. Only asked of a store that `joins`. */
  readonly also?: readonly Ask[] | undefined
}

/** Where one limit stands after a request. Times in µs, at most 2^53 - 1. */
export interface LimitOutcome {
  /** Until the cost fits if nobody else consumes: 0 it does, -1 it never can. */
  readonly wait: number
  /** Units left: a whole number from 0. */
  readonly remaining: number
  /** Until another unit is there; 0 when nothing is used. */
  readonly reset: number
}

/** The answer to one request. The units were taken if every limit's wait is 0. */
export interface Outcome {
  /** When it was decided, in µs of the store's clock. */
  readonly at: number
  /** In the order of the request's set, then of the sets of `also`. */
  readonly limits: readonly LimitOutcome[]
}

/** An outcome, or why there is none for this request. */
export type Answer = Outcome | StoreError

/** Units that go back to every limit of a subject; `limits` says what each told when they were taken. */
export interface RefundRequest {
  readonly key: string
  readonly set: LimitSet
  readonly limits: readonly Refund[]
}

/**
 * A test's clock can go back after a subject has expired, or stand still while real time goes on: under one, stores
 * remember subjects this much longer, so that only what counts decides.
 */
export const KEPT_UNDER_TEST_CLOCK_MS = 3_600_000

/** A call of a store, as its caller sees it. */
export interface Call {
  /** Its deadline has passed and its caller was answered otherwise: nothing may be sent for it any more. */
  readonly isOver: boolean
}

/**
 * Where counts live. A batch of requests goes in, their answers come out in the same order; each request is
 * decided wholly or not at all, and those of one key one after another.
 *
 * A store that is not `immediate` may fail: it rejects when no request could be decided, and answers single
 * requests with an error. What it was asked may then have been counted all the same.
 */
export interface Store {
  /** Whether answers are values, never promises. Such a store needs no batching and no deadline. */
  readonly immediate: boolean
  /** Whether it decides requests that have `also` in one step. Left out: no; Tollgate then asks one after another. */
  readonly joins?: boolean
  /** How many partitions its keys are in: requests of different ones go in different calls, and may fail apart. */
  readonly partitions?: number
  /** Which partition a key is in, from 0. Given with `partitions`. */
  partitionOf?(key: string): number
  /** A promise while it cannot be asked yet; it may reject. Left out: always ready. */
  ready?(): Promise<void> | undefined
  consume(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** The same answers, with nothing taken. */
  peek(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** Whether any units went back. Without a call: what gives units back may be sent late, too. */
  refund(request: RefundRequest): MaybePromise<boolean>
  /** Forgets the subject. */
  reset(key: string): MaybePromise<void>
  /** Lets go of what the store holds; a client that was passed in stays open. */
  close?(): MaybePromise<void>
}
