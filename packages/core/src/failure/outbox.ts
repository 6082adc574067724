import { isA, StoreError, pageOf } from '../base/errors.js'
import { randomText, toBase64url } from '../base/platform.js'
import { clearTimeout, elapsedMs, setTimeout } from '../base/timers.js'
import type { Feature, GivenBack } from '../requests/feature.js'
import { inCalls, Batcher, limitsIn } from '../stores/batcher.js'
import { ID_KEPT_MS, type RefundAnswer, type RefundRequest } from '../stores/contract.js'

interface OutboxItem<Item> {
  readonly item: Item
  readonly firstMs: number
}

/** Half as long as a store remembers ids, in ms, so that no repetition meets a store that has forgotten the first. */
const LONGEST_MS = ID_KEPT_MS / 2
const AGAIN_AFTER_MS = 250
/** The most items that wait per shard. Beyond that the oldest are dropped. */
const MOST_WAITING = 10_000

/**
 * Sends items that must reach the store and carry an id. An item without an answer is sent again, for five minutes. The
 * store counts it once.
 */
export class Outbox<Item extends { readonly shard: number }, Answer> {
  readonly #options: OutboxOptions<Item, Answer>
  readonly #waiting = new Map<number, Set<OutboxItem<Item>>>()
  readonly #underWay = new Set<Promise<unknown>>()
  #timer: NodeJS.Timeout | undefined
  #isEnded = false

  constructor(options: OutboxOptions<Item, Answer>) {
    this.#options = options
  }

  /**
   * Sends items of one shard now.
   *
   * @returns the answers. Items answered with an error are sent again, unless the request itself caused the error
   */
  deliver(items: readonly Item[], isForced: boolean): Promise<readonly (Answer | StoreError)[]> {
    const firstMs = elapsedMs()
    const waiting = items.map((item) => ({ item, firstMs }))
    return this.#track(this.#sendAll(waiting, isForced))
  }

  /** Sends the waiting items of a shard that answers again. */
  async recover(shard: number): Promise<void> {
    await this.#sendAgain(shard, true)
  }

  /** Sends all waiting items a last time, and drops those that were not delivered. */
  async end(): Promise<void> {
    this.#isEnded = true
    clearTimeout(this.#timer)
    await Promise.all(this.#underWay)
    await Promise.all([...this.#waiting.keys()].map((shard) => this.#sendAgain(shard, true)))
    for (const waiting of this.#waiting.values())
      for (const { item } of waiting) this.#options.onDropped(item)
    this.#waiting.clear()
  }

  /** Tracked until the last item is sent, so that `end` waits for all. */
  #sendAgain(shard: number, isForced: boolean): Promise<void> {
    return this.#track(this.#sendWaiting(shard, isForced))
  }

  async #sendWaiting(shard: number, isForced: boolean): Promise<void> {
    const all = [...(this.#waiting.get(shard) ?? [])]
    this.#waiting.delete(shard)
    const old = elapsedMs() - LONGEST_MS
    const live = all.filter(({ firstMs }) => firstMs > old)
    for (const { item, firstMs } of all) if (firstMs <= old) this.#options.onDropped(item)
    await this.#sendAll(live, isForced)
  }

  /** One call after another, so that requests get through in between. */
  async #sendAll(
    all: readonly OutboxItem<Item>[],
    isForced: boolean,
  ): Promise<readonly (Answer | StoreError)[]> {
    const answers: (Answer | StoreError)[] = []
    for (const call of inCalls(all, ({ item }) => this.#options.limitsOf(item)))
      answers.push(...(await this.#send(call, isForced)))
    return answers
  }

  async #send(call: readonly OutboxItem<Item>[], isForced: boolean): Promise<(Answer | StoreError)[]> {
    const items = call.map(({ item }) => item)
    const answers = await this.#options.send(items, isForced)
    const all = items.map(
      (_, i) =>
        answers[i] ??
        new StoreError(
          `the store gave no answer to a request: its array was too short (${pageOf('guides/writing-a-store.md')})`,
        ),
    )
    call.forEach((waiting, i) => this.#settle(waiting, all[i] as Answer | StoreError))
    return all
  }

  #track<T>(sent: Promise<T>): Promise<T> {
    this.#underWay.add(sent)
    return sent.finally(() => this.#underWay.delete(sent))
  }

  #settle(waiting: OutboxItem<Item>, answer: Answer | StoreError): void {
    // An error of the request itself would come back at every repetition.
    if (!isA(answer, StoreError) || answer.isOfRequest) return this.#options.onDelivered(waiting.item, answer)
    const { shard } = waiting.item
    const others = this.#waiting.get(shard) ?? new Set()
    this.#waiting.set(shard, others.add(waiting))
    if (others.size > MOST_WAITING) this.#dropOldest(others)
    this.#againLater()
  }

  #dropOldest(waiting: Set<OutboxItem<Item>>): void {
    const [oldest] = waiting
    if (!oldest) return
    waiting.delete(oldest)
    this.#options.onDropped(oldest.item)
  }

  /** Skips shards with an open breaker: those wait for a successful probe, which calls `recover`. */
  #againLater(): void {
    if (this.#isEnded) return
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined
      const shards = [...this.#waiting.keys()]
      for (const shard of shards) {
        if (this.#options.isOpen(shard)) this.#dropOld(shard)
        else void this.#sendAgain(shard, false)
      }
      if (this.#waiting.size > 0) this.#againLater()
    }, AGAIN_AFTER_MS).unref()
  }

  #dropOld(shard: number): void {
    const old = elapsedMs() - LONGEST_MS
    const waiting = this.#waiting.get(shard) ?? new Set()
    for (const one of waiting) {
      if (one.firstMs > old) break
      waiting.delete(one)
      this.#options.onDropped(one.item)
    }
    if (waiting.size === 0) this.#waiting.delete(shard)
  }
}

interface OutboxOptions<Item, Answer> {
  /** Sends items of one shard; if forced, also while its breaker is open. Never rejects. */
  readonly send: (items: readonly Item[], isForced: boolean) => Promise<readonly (Answer | StoreError)[]>
  /** In how many limits the store counts an item. Calls are bounded by their sum. */
  readonly limitsOf: (item: Item) => number
  readonly isOpen: (shard: number) => boolean
  /** Called once per item, with the store's final answer. */
  readonly onDelivered: (item: Item, answer: Answer | StoreError) => void
  /** Called for each item that will not be sent any more. */
  readonly onDropped: (item: Item) => void
}

const prefix = randomText(9)
let count = 0

/** A new id, unique over all processes. Whatever carries it counts once. */
export function newId(): string {
  count += 1
  return `${prefix}${count.toString(36)}`
}

let leases = 0

/** An id for a lease, as the store contract asks for. No other lease of the last hours has it. */
export function newLeaseId(): string {
  leases = (leases + 1) % 2 ** 24
  return prefix.slice(0, 8) + toBase64url([leases >> 16, leases >> 8, leases])
}

/** An id for the slots of one limiter of this process: another at every start. */
export function newHolderId(): string {
  return randomText(5).slice(0, 6)
}

/** The part of the store that refunds need. */
interface RefundingStore {
  readonly answersAtOnce: boolean
  /** Sends refunds of one shard; if forced, also while its breaker is open. Never rejects. */
  refund(batch: readonly RefundRequest[], isForced: boolean): Promise<readonly RefundAnswer[]>
  /** Why requests are not sent to a shard; undefined when they are. */
  refusal(shard: number): StoreError | undefined
}

/** Gives units back to the store: one call per shard and tick, each refund counted once, even if replies are lost. */
export class GiveBacks implements Feature {
  readonly #store: RefundingStore
  readonly #outbox: Outbox<RefundRequest, boolean>
  readonly #batcher: Batcher<RefundRequest>
  #isEnded = false

  constructor(store: RefundingStore) {
    this.#store = store
    this.#outbox = new Outbox<RefundRequest, boolean>({
      send: (batch, isForced) => store.refund(batch, isForced),
      limitsOf: limitsIn,
      isOpen: (shard) => store.refusal(shard) !== undefined,
      onDelivered: () => {},
      onDropped: () => {},
    })
    this.#batcher = new Batcher((batch, onAnswers) => void this.#outbox.deliver(batch, false).then(onAnswers))
  }

  /**
   * Gives units back. If the store does not answer, this resolves to `unknown`, and the refund is repeated for five minutes.
   * It carries an id, so it counts once. A request without units is not sent, and after `end` nothing is. Never rejects.
   */
  async give(request: RefundRequest): Promise<GivenBack> {
    if (this.#isEnded) return 'unknown'
    if (!request.parts.some(({ receipts }) => receipts.some(({ units }) => units > 0))) return 'gone'
    if (!this.#store.answersAtOnce) {
      return this.#batcher.ask({ ...request, id: newId() }, (_, given) => toGivenBack(given))
    }
    const [answer] = await this.#store.refund([request], false)
    return toGivenBack(answer)
  }

  /** Repeats the waiting refunds of a shard that answers again. */
  recover(shard: number, onDone: () => void): void {
    void this.#outbox.recover(shard).then(onDone)
  }

  async end(): Promise<void> {
    this.#batcher.flush()
    await this.#outbox.end()
    this.#isEnded = true
  }
}

function toGivenBack(answer: unknown): GivenBack {
  if (typeof answer !== 'boolean') return 'unknown'
  return answer ? 'given' : 'gone'
}
