import type { MaybePromise } from '../base/promises.js'
import { elapsedMs, setImmediate } from '../base/timers.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { Hold, LeaseOrder } from './contract.js'

export type { Conclude }

/**
 * Gathers requests into one call per shard. The requests of a call are sent together and fail together. There is no timer. If no
 * call of the shard is on its way, a request leaves within the same tick of the event loop, together with all others that come by
 * then. Otherwise it leaves at the end of the tick.
 */
export class Batcher<Request extends Sized & { readonly shard: number }> {
  readonly #send: Send<Request>
  readonly #onConcluded: () => void
  readonly #lanes = new Map<number, Lane<Request>>()

  /** @param onConcluded called when a request has its answer, before its caller gets it */
  constructor(send: Send<Request>, onConcluded: () => void = () => {}) {
    this.#send = send
    this.#onConcluded = onConcluded
  }

  ask<Result>(request: Request, conclude: Conclude<Request, MaybePromise<Result>>): Promise<Result> {
    const lane = this.#laneOf(request.shard)
    return new Promise<Result>((resolve, reject) => {
      lane.add({ request, conclude, resolve, reject } as Waiting<Request, unknown>)
    })
  }

  /** Sends all waiting requests now. */
  flush(): void {
    for (const lane of this.#lanes.values()) lane.flush()
  }

  #laneOf(shard: number): Lane<Request> {
    const known = this.#lanes.get(shard)
    if (known) return known
    const lane = new Lane(this.#send, this.#onConcluded)
    this.#lanes.set(shard, lane)
    return lane
  }
}

/** How many requests of a reply are concluded at least before the next call may leave. */
const SMALLEST_PART = 8

/**
 * Makes a caller's result from the store's answer or error. The answer can be anything.
 *
 * @param sentAtMs when the call was sent, in ms since the process started
 */
type Conclude<Request, Result> = (request: Request, given: unknown, sentAtMs: number) => Result

/** Sends a batch. Calls `onAnswers` once, with the answers in the batch's order, or with one error for all. */
type Send<Request> = (batch: readonly Request[], onAnswers: (given: unknown) => void) => void

interface Waiting<Request, Result> {
  readonly request: Request
  readonly conclude: Conclude<Request, Result>
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/** After this many steps without I/O between them, the event loop gets a turn, so that timers and sockets do not wait for ever. */
const STEPS_A_TURN = 64

const resolved = Promise.resolve()

/** A call's answers, and how far they have been concluded. */
interface Reply<Request> {
  readonly batch: readonly Waiting<Request, unknown>[]
  readonly given: unknown
  readonly sentAtMs: number
  next: number
}

/** The requests of one shard: those that wait, and the replies that are being concluded. */
class Lane<Request extends Sized> {
  readonly #send: Send<Request>
  readonly #onConcluded: () => void
  #waiting: Waiting<Request, unknown>[] = []
  /** The number of limits in the waiting requests. */
  #limits = 0
  /** The number of calls without a reply yet. */
  #underWay = 0
  #isFlushDue = false
  #replies: Reply<Request>[] = []
  #isConcluding = false
  #steps = 0

  constructor(send: Send<Request>, onConcluded: () => void) {
    this.#send = send
    this.#onConcluded = onConcluded
  }

  add(one: Waiting<Request, unknown>): void {
    const limits = limitsIn(one.request)
    if (this.#limits + limits > MOST_LIMITS_A_CALL) this.flush()
    this.#limits += limits
    if (this.#waiting.push(one) === LARGEST_BATCH) return this.flush()
    if (this.#isFlushDue) return
    this.#isFlushDue = true
    if (this.#underWay === 0) this.#soon(this.#flushDue)
    else setImmediate(this.#flushDue)
  }

  readonly #flushDue = (): void => {
    this.#isFlushDue = false
    this.flush()
  }

  flush(): void {
    if (this.#waiting.length === 0) return
    const batch = this.#waiting
    this.#waiting = []
    this.#limits = 0
    this.#underWay += 1
    const sentAtMs = elapsedMs()
    const onAnswers = (given: unknown): void => {
      this.#underWay -= 1
      this.#replies.push({ batch, given, sentAtMs, next: 0 })
      if (!this.#isConcluding) this.#conclude()
    }
    this.#send(
      batch.map(({ request }) => request),
      onAnswers,
    )
  }

  /**
   * Concludes a reply. If the store is idle meanwhile, concludes only a part of it. Callers of that part may ask again, and their
   * requests leave before the next part is concluded. So the store works at the same time.
   */
  readonly #conclude = (): void => {
    this.#isConcluding = false
    if (this.#underWay === 0) this.flush()
    const reply = this.#replies[0]
    if (!reply) return
    const { batch, given, sentAtMs, next } = reply
    const part = this.#underWay === 0 ? Math.max(SMALLEST_PART, Math.ceil(batch.length / 2)) : batch.length
    const end = Math.min(next + part, batch.length)
    reply.next = end
    if (end === batch.length) this.#replies.shift()
    const answers = Array.isArray(given) ? (given as readonly unknown[]) : undefined
    for (let i = next; i < end; i += 1) {
      const { request, conclude, resolve, reject } = batch[i] as Waiting<Request, unknown>
      this.#onConcluded()
      // An error in one request must not leave the others without an answer.
      try {
        resolve(conclude(request, answers ? answers[i] : given, sentAtMs))
      } catch (error) {
        reject(error)
      }
    }
    if (batch.length === 1 && this.#replies.length === 0) return
    this.#isConcluding = true
    this.#soon(this.#conclude)
  }

  /** Runs a function once everything resolved so far has reached its callers. */
  #soon(run: () => void): void {
    this.#steps += 1
    if (this.#steps % STEPS_A_TURN === 0) setImmediate(run)
    else void resolved.then(run)
  }
}

/** The most requests in one call. */
export const LARGEST_BATCH = 128
/**
 * The most limits in one call, in all its requests together. A larger call would block the server too long for other clients: 1024
 * limits take Redis about 4 ms. A request with more limits is sent alone.
 */
export const MOST_LIMITS_A_CALL = 1024

/**
 * Writing a reservation takes as long as this many limits, and so does a report of one: it is written together with all others
 * that its subject has open, up to 1000.
 */
const LIMITS_A_RESERVATION = 16

/** What determines a request's size. */
export interface Sized {
  readonly parts: readonly { readonly set: LimitSet }[]
  readonly hold?: Hold | undefined
  readonly order?: LeaseOrder | undefined
}

/** A request's size: its number of limits, or as many limits as it takes as long as. */
export function limitsIn({ parts, hold, order }: Sized): number {
  const isHeavy = hold?.kind === 'reservation' || (order && !order.wish)
  let limits = isHeavy ? LIMITS_A_RESERVATION * parts.length : 0
  for (let i = 0; i < parts.length; i += 1) limits += (parts[i] as Sized['parts'][number]).set.limits.length
  return limits
}

/** Divides items into calls that are not too large. */
export function inCalls<Item>(items: readonly Item[], limitsOf: (item: Item) => number): Item[][] {
  const calls: Item[][] = []
  let call: Item[] = []
  let limits = 0
  for (const item of items) {
    const more = limitsOf(item)
    if (call.length === 0 || call.length === LARGEST_BATCH || limits + more > MOST_LIMITS_A_CALL) {
      calls.push((call = []))
      limits = 0
    }
    call.push(item)
    limits += more
  }
  return calls
}
