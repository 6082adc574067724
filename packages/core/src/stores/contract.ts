import { SLOTS_KEPT_US } from '../algorithms/concurrent/concurrent.js'
import type { LimitAnswer, Receipt, SlotHolder, Usage } from '../algorithms/implementation.js'
import type { Algorithm, AlgorithmName } from '../algorithms/registry.js'
import type { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/promises.js'
import type { LimitSet } from '../plans/limit/limit-set.js'

export type { SlotHolder }

/** What a request asks of one key: `cost` units of every limit of the set. */
export interface SubRequest {
  /** Bounded text; the store puts its own prefix before it. */
  readonly key: string
  readonly set: LimitSet
  /** Quota units, a whole number from 1. */
  readonly cost: number
  /**
   * Only if the set has a limit of requests in flight (`set.inFlightIndex`). The numbers change: read them when the request is
   * sent. Left out, the request takes no slot.
   */
  readonly slots?: SlotHolder | undefined
}

/** What a charge asks of one key. Its `cost` is not read. */
export interface ChargedPart extends SubRequest {
  /** The units used of each limit of the set, oldest first. */
  readonly used: readonly (readonly Usage[])[]
}

/** What all kinds of requests have. What only some have is undefined in the others, so it can be read of any. */
interface AnyRequest {
  /** The shard that all keys are in, from 0. */
  readonly shard: number
  readonly id?: undefined
  readonly order?: undefined
  readonly hold?: undefined
}

/** All or nothing: the cost from every limit, or nothing from any. */
export interface ConsumeRequest<Part = SubRequest> extends Omit<AnyRequest, 'hold'> {
  readonly grant: 'all'
  /** Each key at most once. More than one only if the store is `atomic`. */
  readonly parts: readonly Part[]
  readonly hold?: Hold | undefined
}

/** The same number of units from every limit: as much of the cost as fits all of them. Takes no slot. */
export interface UpToRequest<Part = SubRequest> extends AnyRequest {
  readonly grant: 'upTo'
  readonly parts: readonly Part[]
}

/** Units that were used already: from each limit its own, at the time of their use, over the quota if need be. */
export interface ChargeRequest extends Omit<AnyRequest, 'id'> {
  readonly grant: 'force'
  readonly parts: readonly ChargedPart[]
  /**
   * At most 64 letters, digits, `_` or `-`. The shard remembers an id for ID_KEPT_MS: a repeated request changes nothing
   * and gets the same `granted` as the first time.
   */
  readonly id?: string | undefined
}

/** Units in advance, which the process then serves from memory. Only asked of stores with `leases` or `holds`. */
export interface LeaseRequest<Part = SubRequest> extends Omit<AnyRequest, 'order'> {
  readonly grant: 'lease'
  /** One part. */
  readonly parts: readonly Part[]
  readonly order: LeaseOrder
}

/**
 * Takes nothing, and says only how many slots the holder has. Only asked of stores with `slots`.
 * - `declare`: the row of the holder lives on from now.
 * - `release`: slots were given back. If the holder has a row, its end stays, and nothing else of the subject is written.
 */
export interface SlotsRequest<Part = SubRequest> extends AnyRequest {
  readonly grant: 'declare' | 'release'
  /** One part, with `slots`. */
  readonly parts: readonly Part[]
}

/** One request, of the kind that `grant` says. All its keys are decided in one step. */
export type StoreRequest = UnchargedRequest | ChargeRequest

/** All but charges. */
export type UnchargedRequest<Part = SubRequest> =
  | ConsumeRequest<Part>
  | UpToRequest<Part>
  | LeaseRequest<Part>
  | SlotsRequest<Part>

export type Grant = StoreRequest['grant']

/** Where one limit stands after a request. With `force` and `lease` its `wait` is 0. */
export interface LimitOutcome extends LimitAnswer {
  /**
   * Not with `all`: units given to the request. With `upTo` and `lease` the same for all limits. With `force` this
   * limit's own units, including those too old to count, but without those that its state has no room for.
   */
  readonly granted?: number | undefined
  /** Units that processes hold on lease, reserved or in places, if there are any. */
  readonly leased?: number | undefined
  /** Of a limit of requests in flight: the number of the holder's last slot. `wait` is a hint then, and `reset` 0. */
  readonly slot?: number | undefined
}

/**
 * The answer to one request. With `all` the units were taken, or are held, if every limit's wait is 0. With `declare` and
 * `release` only the limit of requests in flight is told, and the numbers of the others are 0.
 */
export interface Outcome {
  /** When it was decided, in µs of the store's clock. */
  readonly at: number
  /** One per limit: the limits of the first part's set in order, then those of the next part. */
  readonly limits: readonly LimitOutcome[]
  /** Only with `lease`. */
  readonly lease?: LeaseOutcome | undefined
  /** Only with a `hold`, if every limit's wait is 0. */
  readonly hold?: HoldOutcome | undefined
}

/** An outcome, or the error because of which this request has none. */
export type Answer = Outcome | StoreError

/** Units to give back to the limits of keys in one shard, in one step. */
export interface RefundRequest {
  readonly shard: number
  readonly parts: readonly RefundPart[]
  /** As in ChargeRequest. Units are given back once per id; a repetition gets the answer of the first time. */
  readonly id?: string | undefined
}

export interface RefundPart {
  readonly key: string
  readonly set: LimitSet
  /** For each limit of the set: the units to give back, and what their decision said, if that is known. */
  readonly receipts: readonly Receipt[]
}

/** Whether any units were given back, or the error because of which this is not known. */
export type RefundAnswer = boolean | StoreError

/** How long a store remembers an id, in ms. Senders repeat a request for half as long. */
export const ID_KEPT_MS = 600_000

/** How long a store keeps the slots of a holder after its last message, in ms. Holders tell of theirs three times as often. */
export const SLOTS_KEPT_MS = SLOTS_KEPT_US / 1000

/**
 * Under a test's clock, stores keep subjects this much longer, in ms: such a clock can go back after a subject has
 * expired, or stand still while real time passes. Decisions are the same, since units expire by the test's clock.
 */
export const KEPT_UNDER_TEST_CLOCK_MS = 3_600_000

/** What a store can ask about the call that it is working on. */
export interface Call {
  /** True once the deadline has passed and the caller got another answer: the store must not send anything more. */
  readonly isOver: boolean
}

/** Receives what a store reports by itself. */
export interface StoreListener {
  /** For want of room, the store forgot this many subjects whose units still counted. */
  onEvicted(subjects: number): void
  /** The store has never been reached: its first connection failed. May be called for every failed attempt. */
  onUnreached(error: StoreError): void
}

/** What a store can do. Checked when a limiter is created. */
export interface StoreAbilities {
  /** Whether answers are plain values, never promises. Such a store needs no batching and no deadline. */
  readonly synchronous: boolean
  /** Whether it decides several keys of a shard in one step. Default: no; then each key is a request of its own. */
  readonly atomic?: boolean
  /** The number of shards. Each request is for one shard, and each shard can fail alone. Default: 1. */
  readonly shards?: number
  /** The algorithms it supports. Default: all. */
  readonly algorithms?: readonly AlgorithmName[]
  /** The algorithm of limits that name none: one that it supports. Default: `sliding-log`. */
  readonly defaultAlgorithm?: Algorithm
  /** The largest quota that it can count: larger ones are refused. Default: any. */
  readonly largestQuota?: number
  /** The longest that it can keep counts, in ms: limits whose units count for longer are refused. Default: as long as need be. */
  readonly longestTtlMs?: number
  /** Whether it grants leases. Default: no. A synchronous store is never asked for one. */
  readonly leases?: boolean
  /** Whether it counts requests in flight: `slots`, and the grant `declare`. Default: no. */
  readonly slots?: boolean
  /** Whether it makes reservations and books places. Default: no. */
  readonly holds?: boolean
  /** The clock that decides: `server`: one for all processes; `process`: each process's own. Default: `process`. */
  readonly clock?: 'server' | 'process'
  /**
   * Set when a test sets the time that the store counts by: returns it in ms. Limiters then remember no denials, unless
   * their option `denials` asks for it; these age by this clock.
   */
  readonly testClock?: (() => number) | undefined
  /**
   * Stores with the same object here write the same keys, such as those of one Redis client and prefix: two limiters of
   * a process on them must have different names. A wrapper passes it on. Left out: only this store writes its keys.
   */
  readonly space?: object
}

/**
 * Where counts live. A call gets a batch of requests for one shard and returns their answers in the same order. Each
 * request is decided as a whole, and requests for the same key one after another.
 *
 * A store that is not `synchronous` may fail: the call rejects when no request could be decided, and single requests
 * can be answered with an error. Either way the requests may have been counted.
 */
export interface Store extends StoreAbilities {
  /** A promise while the store cannot be called yet, which may reject; undefined once it can. Default: always ready. */
  ready?(): Promise<void> | undefined
  /** Why it is not ready, if that is known: the error for calls that it did not answer by their deadline. */
  whyNotReady?(): StoreError | undefined
  consume(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** The answers that `consume` would give, but takes nothing. Only for requests with grant `all`. */
  peek(batch: readonly StoreRequest[], call?: Call): MaybePromise<readonly Answer[]>
  /** Takes no `call`, since refunds may be sent late. */
  refund(batch: readonly RefundRequest[]): MaybePromise<readonly RefundAnswer[]>
  /**
   * Forgets all counts under some keys of one shard. Returns whether there were any. Where it returns anything but true, as
   * a store that does not know it may, the limiter says that there were none.
   *
   * @param sets the limits that can be counted under these keys, for a store that cannot list what it has under a key. A
   *             limiter always gives them
   */
  reset(keys: readonly string[], shard: number, sets?: readonly LimitSet[]): MaybePromise<boolean>
  /** Reports to a listener from now on. Returns a function that stops it. */
  observe?(listener: StoreListener): () => void
  /**
   * Releases what the store itself opened; a client that the user passed in stays open. Called when the last limiter on
   * the store is closed.
   */
  close?(): MaybePromise<void>
}

/**
 * What a process tells of its leases of a key, and the next one that it asks for. Units on lease are counted beside the
 * limits: nobody else can take them. They enter the limits when they are reported as used, or when the lease ends.
 */
export interface LeaseOrder {
  readonly reports: readonly LeaseReport[]
  /** Left out: nothing is asked for. */
  readonly wish?: LeaseWish | undefined
}

/** Both numbers are totals, so a report counts once however often it arrives. Without such a lease it changes nothing. */
export interface LeaseReport {
  /** The id of the wish that it was granted for. */
  readonly id: string
  /** Units of the lease that were used so far. */
  readonly used: number
  /** Units of it that the process still holds: the others can be taken again. 0 ends the lease. */
  readonly left: number
}

export interface LeaseWish {
  /** 12 letters, digits, `_` or `-`, unique among the leases of a key. A second wish with it gets what the first got. */
  readonly id: string
  /** The most units, and the fewest: the store leases none rather than fewer. */
  readonly most: number
  readonly least: number
  /** The most that may be leased of the units that are left, from 0 to 1. */
  readonly share: number
  /** The longest that the lease lasts, in whole µs. */
  readonly lengthUs: number
  /** How long before the end of the lease its units count as used, in whole µs. 0: when they are reported, or at the end. */
  readonly lagUs: number
}

export interface LeaseOutcome {
  /** When the new lease ends, in µs after `at`; 0 if there is none. */
  readonly endsInUs: number
  /**
   * Whether the store knows each lease of which units were reported as used or left. If not, they must not be served any more,
   * and the store may not have counted what was used.
   */
  readonly isKnown: boolean
}

/**
 * Puts the cost beside the limits, as a lease does: nobody else can have these units. Only asked of stores with `holds`.
 * Reports in a `LeaseOrder`, one for each key, make it smaller or end it.
 * - `reservation`: if the cost fits now. What is still held at the end comes back, and never counts as used.
 * - `place`: if the cost does not fit now, but will within `lengthUs`, after all places that were booked before, or in one
 *   that was given back. Parts whose set has no `wait` must have room now, and are taken from at once. The units enter
 *   the limits at the end, `slackUs` after the time of the place. If the cost fits now it is taken, and nothing is held.
 */
export interface Hold {
  readonly kind: 'reservation' | 'place'
  /** As the id of a LeaseWish. The same for all its keys. */
  readonly id: string
  /** Reservation: how long it lasts at least; place: the longest delay. In whole µs. */
  readonly lengthUs: number
  /** Of a place: for how long after its time it can be used, in whole µs. */
  readonly slackUs: number
  /** The most reservations of a key, or places whose time is still to come. With more of them it is denied. */
  readonly most: number
}

export interface HoldOutcome {
  /** Of a place: in how many µs after `at` its time comes. 0: the cost was taken at once, or it is a reservation. */
  readonly delayUs: number
  /** When the hold ends, in µs after `at`: a reservation up to 1/64 later than asked for. 0: nothing is held. */
  readonly endsInUs: number
}
