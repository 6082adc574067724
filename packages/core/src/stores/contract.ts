import { SLOTS_KEPT_US } from '../algorithms/concurrent/concurrent.js'
import type { LimitAnswer, Receipt, SlotHolder, Usage } from '../algorithms/implementation.js'
import type { Algorithm, AlgorithmName } from '../algorithms/registry.js'
import type { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/promises.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { AccountEntry, Booked, CountedWindow, LimitUsage } from './account.js'
import type { BlockOutcome, DenialTally } from './blocks.js'
import type { Board } from './board.js'
import type { LeaseOrder, LeaseOutcome, Hold, HoldOutcome } from './leases-and-holds.js'
import type { RuleList } from './rule-list.js'

export type { AccountEntry, BlockOutcome, Booked, CountedWindow, DenialTally, LimitUsage, SlotHolder }
export type * from './leases-and-holds.js'

/** What a request asks of one key: `cost` units of every limit of the set. */
export interface SubRequest {
  /** Text of bounded length. The store puts its own prefix before it. */
  readonly key: string
  /** The limits to count against. */
  readonly set: LimitSet
  /** Quota units, a whole number from 1. */
  readonly cost: number
  /**
   * Who takes the slot: only if the set has a limit of requests in flight (`set.inFlightIndex`). Its numbers change, so read them
   * when you send the request. Left out: the request takes no slot.
   */
  readonly slots?: SlotHolder | undefined
  /** Denials of the key that this process answered from memory. Only if the set has `blockAfter`. */
  readonly tally?: DenialTally | undefined
  /** False if the same request is asked again when it is denied, so that this denial must not count. Default: true. */
  readonly countsDenial?: false | undefined
}

/** What a charge asks of one key. Its `cost` is not read. */
export interface ChargedPart extends SubRequest {
  /** The units used, for each limit of the set, oldest first. */
  readonly used: readonly (readonly Usage[])[]
}

/** What all kinds of requests have. Fields that only some kinds have are undefined in the others, so you can read them in any. */
interface AnyRequest {
  /** The shard of all its keys, from 0. */
  readonly shard: number
  readonly id?: undefined
  readonly order?: undefined
  readonly hold?: undefined
}

/** All or nothing: the cost from every limit, or nothing from any. */
export interface ConsumeRequest<Part = SubRequest> extends Omit<AnyRequest, 'hold'> {
  readonly grant: 'all'
  /** Each key at most once. More than one part only if the store is `atomic`. */
  readonly parts: readonly Part[]
  readonly hold?: Hold | undefined
}

/** As much of the cost as fits all limits: the same number of units from each. Takes no slot. */
export interface UpToRequest<Part = SubRequest> extends AnyRequest {
  readonly grant: 'upTo'
  readonly parts: readonly Part[]
}

/** Units that were already used, each counted at the time of its use, over the quota if need be. Each limit has its own. */
export interface ChargeRequest extends Omit<AnyRequest, 'id'> {
  readonly grant: 'force'
  readonly parts: readonly ChargedPart[]
  /**
   * At most 64 letters, digits, `_` or `-`. The shard remembers an id for ID_KEPT_MS. A repeated request changes nothing and gets
   * the same `granted` as the first time.
   */
  readonly id?: string | undefined
}

/** Units in advance, which the process then serves from memory. Only for stores with `leases` or `holds`. */
export interface LeaseRequest<Part = SubRequest> extends Omit<AnyRequest, 'order'> {
  readonly grant: 'lease'
  /** One part. */
  readonly parts: readonly Part[]
  readonly order: LeaseOrder
}

/**
 * Takes nothing, and only reports how many slots the holder has. Only for stores with `slots`.
 * - `declare`: the holder's row lives on, for SLOTS_KEPT_MS from now.
 * - `release`: slots were given back. If the holder has a row, it does not live longer, and nothing else of the subject is
 *   written.
 */
export interface SlotsRequest<Part = SubRequest> extends AnyRequest {
  readonly grant: 'declare' | 'release'
  /** One part, with `slots`. */
  readonly parts: readonly Part[]
}

/**
 * Ends a block of a key, and forgets its denials and how often it was blocked. Takes and gives back nothing. Only for stores with
 * `blocks`. Repeating it changes nothing.
 */
export interface UnblockRequest<Part = SubRequest> extends AnyRequest {
  readonly grant: 'unblock'
  /** One part, whose cost is 1. Its set need not have `blockAfter`. */
  readonly parts: readonly Part[]
}

/**
 * Books an entry on a limit of a key. Takes nothing, and is answered with where the limits stand then. Only for stores with `accounts`.
 */
export interface AccountRequest<Part = SubRequest> extends AnyRequest {
  readonly grant: 'account'
  /** One part, whose cost is 1. */
  readonly parts: readonly Part[]
  readonly entry: AccountEntry
}

/** A request that `Store.consume` decides. `grant` is its kind. All its keys are decided in one step. */
export type StoreRequest = UnchargedRequest | ChargeRequest

/** All requests except charges. */
export type UnchargedRequest<Part = SubRequest> =
  | ConsumeRequest<Part>
  | UpToRequest<Part>
  | LeaseRequest<Part>
  | SlotsRequest<Part>
  | UnblockRequest<Part>
  | AccountRequest<Part>

/** The kind of a request: how much the store may give. */
export type Grant = StoreRequest['grant']

/** Where one limit stands after a request. With `force` and `lease`, `wait` is 0. */
export interface LimitOutcome extends LimitAnswer {
  /**
   * The units given to the request; left out with `all`. With `upTo` and `lease`, the same for all limits. With `force`, the
   * limit's own units: with those too old to count, but without those that its state has no room for.
   */
  readonly granted?: number | undefined
  /** Units that processes hold on lease, reserved or in places, if there are any. */
  readonly leased?: number | undefined
  /**
   * Only for a limit that observes (`observes`), if the cost does not fit it: the `wait` that it would have had. Its own `wait` is 0,
   * and the request took nothing from it.
   */
  readonly wouldWait?: number | undefined
  /** Only for a limit with `overage`: the units counted beyond its quota, if there are any. Its `wait` is 0. */
  readonly over?: number | undefined
  /** Units left of top-ups, if there are any. They are in `remaining`. */
  readonly toppedUp?: number | undefined
  /** Only for a billing window that is short: its share of the quota. */
  readonly shortQuota?: number | undefined
  /** Only for a limit of requests in flight: the number of the holder's last slot. Its `wait` is a hint, and its `reset` is 0. */
  readonly slot?: number | undefined
  /**
   * With `all`, while the key is blocked: the same for all limits of its set. Then `remaining` is 0, and neither `wait` nor `reset`
   * is shorter than the block, except the `reset` of requests in flight.
   */
  readonly block?: BlockOutcome | undefined
}

/**
 * The answer to one request. With `all`, the units were taken or are held if every limit's `wait` is 0. With `declare` and
 * `release`, only the limit of requests in flight has its numbers. Those of all others are 0.
 */
export interface Outcome {
  /** When the request was decided, in µs by the store's clock. */
  readonly at: number
  /** One for each limit: the limits of the first part's set in order, then those of the next part. */
  readonly limits: readonly LimitOutcome[]
  /** Only with `lease`. */
  readonly lease?: LeaseOutcome | undefined
  /** Only with a `hold`, if every limit's `wait` is 0. */
  readonly hold?: HoldOutcome | undefined
  /** Only with `unblock`: whether there was a block. */
  readonly wasBlocked?: boolean | undefined
  /** Only with `account`. An entry of the kind `usage` is `repeated`. */
  readonly booked?: Booked | undefined
  /** Only with `account`, for an entry of the kind `usage`. */
  readonly usage?: LimitUsage | undefined
}

/** A request's outcome, or the error because of which it has none. */
export type Answer = Outcome | StoreError

/** Units to give back to the limits of keys in one shard, in one step. */
export interface RefundRequest {
  readonly shard: number
  readonly parts: readonly RefundPart[]
  /** As in ChargeRequest. Units are given back once for each id. A repeated request gets the same answer as the first time. */
  readonly id?: string | undefined
}

/** The units to give back to one key. */
export interface RefundPart {
  readonly key: string
  readonly set: LimitSet
  /** For each limit of the set: the units to give back, and what their decision said about them, if that is known. */
  readonly receipts: readonly Receipt[]
}

/** Whether any units were given back, or the error because of which this is unknown. */
export type RefundAnswer = boolean | StoreError

/** How long a store must remember an id, in ms. Senders repeat a request for half as long. */
export const ID_KEPT_MS = 600_000

/** How long a store must keep a holder's slots after its last message, in ms. Holders send three messages in that time. */
export const SLOTS_KEPT_MS = SLOTS_KEPT_US / 1000

/**
 * How much longer stores keep subjects under a test's clock, in ms. Such a clock can go back after a subject has expired, or stand
 * still while real time passes. Decisions stay the same, since units expire by the test's clock.
 */
export const KEPT_UNDER_TEST_CLOCK_MS = 3_600_000

/** What a store can learn about the call that it is working on. */
export interface Call {
  /** True once the deadline has passed and the caller has another answer. Then the store must not send anything more. */
  readonly isOver: boolean
}

/** Receives what a store reports by itself. */
export interface StoreListener {
  /** The store had no room, and forgot this many subjects whose units still counted. */
  onEvicted(subjects: number): void
  /** The first connection failed, so the store has never been reached. May be called for every failed attempt. */
  onUnreached(error: StoreError): void
}

/** What a store can do. A limiter checks this when it is created. */
export interface StoreAbilities {
  /** Whether answers are plain values, never promises. Such a store needs no batching and no deadline. */
  readonly synchronous: boolean
  /** Whether the store decides several keys of a shard in one step. Default: false. Then each key is its own request. */
  readonly atomic?: boolean
  /** The number of shards. Each request is for one shard, and each shard can fail alone. Default: 1. */
  readonly shards?: number
  /** The algorithms that the store supports. Default: all. */
  readonly algorithms?: readonly AlgorithmName[]
  /** The algorithm for limits that name none. The store must support it. Default: `sliding-log`. */
  readonly defaultAlgorithm?: Algorithm
  /** The largest quota that the store can count. Limiters refuse larger ones. Default: any. */
  readonly largestQuota?: number
  /** The longest that the store can keep counts, in ms. Limiters refuse limits whose units count for longer. Default: any time. */
  readonly longestTtlMs?: number
  /** Whether the store grants leases. Default: false. A synchronous store is never asked for one. */
  readonly leases?: boolean
  /** Whether the store counts requests in flight: `slots`, and the grants `declare` and `release`. Default: false. */
  readonly slots?: boolean
  /** Whether the store makes reservations and books places. Default: false. */
  readonly holds?: boolean
  /** Whether the store counts denials and blocks keys: sets with `blockAfter`, and the grant `unblock`. Default: false. */
  readonly blocks?: boolean
  /**
   * Whether the store counts limits that observe (`observes`): they deny nothing, and a request takes from each of them only if
   * its cost fits it. Default: false.
   */
  readonly observers?: boolean
  /**
   * Whether the store counts beyond the quota of limits with `overage`: they deny nothing, and take the units of all requests.
   * Default: false.
   */
  readonly overage?: boolean
  /** Whether the store keeps what is booked on limits: the grant `account`. Default: false. */
  readonly accounts?: boolean
  /** Whether the store counts limits as the billing days of subjects make them: `billing-window`. Default: false. */
  readonly billingDays?: boolean
  /** Whose clock decides. `server`: one clock for all processes. `process`: each process's own. Default: `process`. */
  readonly clock?: 'server' | 'process'
  /**
   * Only under a test's clock: returns its time in ms. Limiters then remember no denials unless their option `denials` asks for it,
   * and remembered denials age by this clock.
   */
  readonly testClock?: (() => number) | undefined
  /**
   * Stores with the same object here write the same keys, such as those of one Redis client and prefix. Two limiters in a process
   * that use such stores need different names. A wrapper passes the object on. Left out: only this store writes its keys.
   */
  readonly space?: object
}

/**
 * Where counts live. Each call gets a batch of requests for one shard and returns their answers in the same order. Each request is
 * decided as a whole, and requests for the same key are decided one after another.
 *
 * A store that is not `synchronous` may fail. The call rejects if no request could be decided, and single requests can be answered
 * with an error. Either way, the requests may have been counted.
 */
export interface Store extends StoreAbilities {
  /** A promise, which may reject, while the store cannot be called yet; undefined once it can. Default: always ready. */
  ready?(): Promise<void> | undefined
  /** Why the store is not ready, if that is known: the error for calls that it did not answer by their deadline. */
  whyNotReady?(): StoreError | undefined
  /** Decides requests, and takes the units of those that fit. */
  consume(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** Returns the answers that `consume` would give, but takes nothing. Only for requests with the grant `all`. */
  peek(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** Gives units back. Has no `call`, since refunds may be sent late. */
  refund(batch: readonly RefundRequest[]): MaybePromise<readonly RefundAnswer[]>
  /**
   * Forgets all counts under some keys of one shard. Returns whether there were any. If a store cannot know that, it may return
   * anything other than true, and the limiter reports that there were none.
   *
   * @param sets the limits that can be counted under these keys, for a store that cannot list what it has under a key. A limiter
   *             always passes them
   */
  reset(keys: readonly string[], shard: number, sets?: readonly LimitSet[]): MaybePromise<boolean>
  /** The list of rules that are set at run time. Left out: limiters on this store have no rules. */
  readonly rules?: RuleList
  /** Notes for those who look. Left out: limiters on this store say nothing of their traffic, and keep no logs. */
  readonly board?: Board
  /** Reports to a listener from now on. Returns a function that stops it. */
  observe?(listener: StoreListener): () => void
  /** Closes what the store itself opened, but not a client that the user passed in. Called when the store's last limiter closes. */
  close?(): MaybePromise<void>
}
