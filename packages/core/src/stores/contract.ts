import { SLOTS_KEPT_US } from '../algorithms/concurrent/concurrent.js'
import type { LimitAnswer, Receipt, SlotHolder, Usage } from '../algorithms/implementation.js'
import type { Algorithm, AlgorithmName } from '../algorithms/registry.js'
import type { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/promises.js'
import type { LimitSet } from '../plans/limit/limit-set.js'

export type { SlotHolder }

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

/** A request that `Store.consume` decides. `grant` is its kind. All its keys are decided in one step. */
export type StoreRequest = UnchargedRequest | ChargeRequest

/** All requests except charges. */
export type UnchargedRequest<Part = SubRequest> =
  | ConsumeRequest<Part>
  | UpToRequest<Part>
  | LeaseRequest<Part>
  | SlotsRequest<Part>

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
  /** Only for a limit of requests in flight: the number of the holder's last slot. Its `wait` is a hint, and its `reset` is 0. */
  readonly slot?: number | undefined
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
  /** Reports to a listener from now on. Returns a function that stops it. */
  observe?(listener: StoreListener): () => void
  /** Closes what the store itself opened, but not a client that the user passed in. Called when the store's last limiter closes. */
  close?(): MaybePromise<void>
}

/**
 * What a process reports of its leases of a key, and the next one that it asks for. Units on lease are counted beside the limits,
 * where no other process can take them. They enter the limits when they are reported as used, or when the lease ends.
 */
export interface LeaseOrder {
  readonly reports: readonly LeaseReport[]
  /** The lease that the process asks for. Left out: none. */
  readonly wish?: LeaseWish | undefined
}

/**
 * What a process reports of one lease. Both numbers are totals, so a report counts once, however often it arrives. If the store
 * has no such lease, the report changes nothing.
 */
export interface LeaseReport {
  /** The id of the wish for which the lease was granted. */
  readonly id: string
  /** The lease's units that were used so far. */
  readonly used: number
  /** The lease's units that the process still holds. The others can be taken again. 0 ends the lease. */
  readonly left: number
}

/** The lease that a process asks for. */
export interface LeaseWish {
  /** 12 letters, digits, `_` or `-`, unique among a key's leases. A second wish with the same id gets what the first got. */
  readonly id: string
  /** The most units to lease. */
  readonly most: number
  /** The fewest units to lease. Rather than fewer, the store leases none. */
  readonly least: number
  /** The largest share of the remaining units that may be leased, from 0 to 1. */
  readonly share: number
  /** The longest that the lease lasts, in whole µs. */
  readonly lengthUs: number
  /** How long before the lease's end its units count as used, in whole µs. 0: when they are reported, or at the end. */
  readonly lagUs: number
}

/** What became of a lease order. */
export interface LeaseOutcome {
  /** When the new lease ends, in µs after `at`; 0 if there is none. */
  readonly endsInUs: number
  /**
   * Whether the store knows every lease whose units were reported as used or left. If not, the process must no longer serve
   * them, and the store may not have counted what was used.
   */
  readonly isKnown: boolean
}

/**
 * Puts the cost beside the limits, as a lease does, so that no other request can take these units. Only for stores with `holds`.
 * Reports in a `LeaseOrder`, one for each key, make a hold smaller or end it.
 * - `reservation`: made if the cost fits now. What is still held at the end comes back, and never counts as used.
 * - `place`: booked if the cost does not fit now, but will within `lengthUs`: after all earlier places, or in one that was given
 *   back. Parts whose set has no `wait` must have room now, and their units are taken at once. The place's units enter the limits
 *   at its end, `slackUs` after its time. If the whole cost fits now, it is taken, and nothing is held.
 */
export interface Hold {
  readonly kind: 'reservation' | 'place'
  /** Like the id of a LeaseWish. The same for all its keys. */
  readonly id: string
  /** A reservation's shortest length, or a place's longest delay, in whole µs. */
  readonly lengthUs: number
  /** How long after its time a place can be used, in whole µs. */
  readonly slackUs: number
  /** The most reservations of a key, or places whose time is still to come. With more of them, the request is denied. */
  readonly most: number
}

/** What became of a hold. */
export interface HoldOutcome {
  /** In how many µs after `at` the place's time comes. 0: the cost was taken at once, or it is a reservation. */
  readonly delayUs: number
  /** When the hold ends, in µs after `at`. A reservation may end up to 1/64 later than asked. 0: nothing is held. */
  readonly endsInUs: number
}
