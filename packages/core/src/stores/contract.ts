import type { AlgorithmName } from '../algorithms/registry.js'
import type { Receipt, Usage } from '../algorithms/implementation.js'
import type { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { LimitSet } from '../plans/limit-set.js'

/** Units asked of one key. */
export interface SubRequest {
  /** Bounded text; the store puts its own prefix before it. */
  readonly key: string
  readonly set: LimitSet
  /** Quota units, a whole number from 1: asked of every limit of the set. With `force`, `used` says it. */
  readonly cost: number
  /** Only with `force`: what was used of each limit of the set, oldest first. */
  readonly used?: readonly (readonly Usage[])[] | undefined
}

/**
 * How much of what was asked a store may give.
 * - `all`: the cost from every limit, or nothing from any.
 * - `upTo`: the same number of units from every limit: as many of the cost as fit the fullest of them.
 * - `force`: of each limit its own units, as of when they were used, over the quota if need be.
 */
export type Grant = 'all' | 'upTo' | 'force'

/** One request: what it asks of its keys is decided in one step. */
export interface StoreRequest {
  /** The shard that all its keys are in, from 0. */
  readonly shard: number
  /** No key twice. Several only where the store is `atomic`. */
  readonly parts: readonly SubRequest[]
  readonly grant: Grant
  /**
   * Text of at most 64 letters, digits, `_` or `-`. A request with an id that the shard remembers changes nothing, and
   * is answered with the `granted` of the first time. Only with `force`. Ids are remembered for ID_KEPT_MS.
   */
  readonly id?: string | undefined
}

/** Where one limit stands after a request. Times in µs, at most 2^53 - 1. */
export interface LimitOutcome {
  /** Until the cost fits if nobody else consumes: 0 it does, -1 it never can. With `force`: 0. */
  readonly wait: number
  /** Units left: a whole number from 0. */
  readonly remaining: number
  /** Until another unit is there; 0 when nothing is used. */
  readonly reset: number
  /**
   * Units that the request was given, with `upTo` and `force`: with `upTo` the same for all limits, with `force` those
   * of this limit but what its state cannot hold. Units that no longer count by their age are given, too.
   */
  readonly granted?: number | undefined
}

/** The answer to one request. With `all` the units were taken if every limit's wait is 0. */
export interface Outcome {
  /** When it was decided, in µs of the store's clock. */
  readonly at: number
  /** Of the limits of each part's set, in order. */
  readonly limits: readonly LimitOutcome[]
}

/** An outcome, or why there is none for this request. */
export type Answer = Outcome | StoreError

/** Units that go back to the limits of some keys of one shard, in one step. */
export interface RefundRequest {
  readonly shard: number
  readonly parts: readonly RefundPart[]
  /** As in StoreRequest: units of one id go back once, and a repetition is answered as the first time was. */
  readonly id?: string | undefined
}

export interface RefundPart {
  readonly key: string
  readonly set: LimitSet
  /** Of each limit of the set: which units, as its decision told them. */
  readonly receipts: readonly Receipt[]
}

/** Whether any units went back, or why that is not known. */
export type RefundAnswer = boolean | StoreError

/** How long a store remembers an id, in ms. Senders repeat a request for half as long. */
export const ID_KEPT_MS = 600_000

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

/** What a store tells of itself, unasked. */
export interface StoreListener {
  /** It forgot so many subjects whose units still counted, for want of room. */
  onEvicted(subjects: number): void
  /** It cannot be connected, and has not been before. May be told again and again. */
  onUnreached(error: StoreError): void
}

/** What a store can do. Checked where a limiter is made. */
export interface StoreAbilities {
  /** Whether answers are values, never promises. Such a store needs no batching and no deadline. */
  readonly synchronous: boolean
  /** Whether it decides requests of several keys of a shard in one step. Left out: no; they are asked one by one. */
  readonly atomic?: boolean
  /** In how many shards its keys are: each request is of one, and they may fail apart. Left out: 1. */
  readonly shards?: number
  /** The algorithms that it can count by. Left out: all. */
  readonly algorithms?: readonly AlgorithmName[]
  /** Whose clock decides: the `server`'s, one for all processes, or each `process`'s own. Left out: `process`. */
  readonly clock?: 'server' | 'process'
  /**
   * Stores with the same object here write the same keys, such as those of one Redis client and prefix: two limiters of
   * a process on them must have different names. A wrapper passes it on. Left out: only this store writes its keys.
   */
  readonly space?: object
}

/**
 * Where counts live. A batch of requests of one shard goes in, their answers come out in the same order; each request
 * is decided wholly or not at all, and those of one key one after another.
 *
 * A store that is not `synchronous` may fail: it rejects when no request could be decided, and answers single
 * requests with an error. What it was asked may then have been counted all the same.
 */
export interface Store extends StoreAbilities {
  /** A promise while it cannot be asked yet; it may reject. Left out: always ready. */
  ready?(): Promise<void> | undefined
  consume(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** The answers that `consume` would give, with nothing taken. Only of requests with grant `all`. */
  peek(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** Without a call: what gives units back may be sent late, too. */
  refund(batch: readonly RefundRequest[]): MaybePromise<readonly RefundAnswer[]>
  /** Forgets all that was counted under some keys of one shard. */
  reset(keys: readonly string[], shard: number): MaybePromise<void>
  /** Tells a listener from now on. Returns what ends that. */
  observe?(listener: StoreListener): () => void
  /** Lets go of what the store holds; a client that was passed in stays open. Called when its last limiter is closed. */
  close?(): MaybePromise<void>
}
