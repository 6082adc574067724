import { eventually } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  type Decision,
  type Limiter,
  type LimiterOptions,
  type PlanInput,
  type Store,
} from '../../../src/index.js'
import type { WaitingChange } from '../../../src/limiter/waiting/waiting-change.js'

type Consume = Parameters<Limiter['consume']>

/** A request that was sent, and what became of it. */
export interface Sent {
  readonly name: string
  decision?: Decision
  error?: unknown
}

/** Limiters on one store in memory, whose clock a test sets. */
export class WaitingBench {
  #nowMs = 1_800_000_000_000
  readonly store: Store = memoryStore({ now: () => this.#nowMs })
  readonly #limiters: Limiter[] = []
  /** In the order in which they were answered. */
  readonly answered: Sent[] = []
  readonly told: WaitingChange[] = []

  limiter(batch: PlanInput, options: Partial<LimiterOptions> = {}): Limiter {
    // In another process it would have the same keys, and so a store of its own on them.
    const limiter = createLimiter({
      plans: { batch },
      store: bound(this.store),
      warnings: false,
      ...options,
    })
    limiter.on('waiting', (change) => this.told.push(change))
    this.#limiters.push(limiter)
    return limiter
  }

  /** Sends a request without waiting for its answer. */
  send(limiter: Limiter, name: string, ...args: Consume): Sent {
    const sent: Sent = { name }
    const over = (answer: Omit<Sent, 'name'>): void => {
      Object.assign(sent, answer)
      this.answered.push(sent)
    }
    const decided = Promise.resolve(limiter.consume(...args))
    decided.then(
      (decision) => over({ decision }),
      (error: unknown) => over({ error }),
    )
    return sent
  }

  sendMany(limiter: Limiter, count: number, ...args: Consume): Sent[] {
    return Array.from({ length: count }, (_, i) => this.send(limiter, `${i}`, ...args))
  }

  pass(ms: number): void {
    this.#nowMs += ms
  }

  /** Lets time pass until as many more were answered. Their names, in that order. */
  async answersAfter(ms: number, count: number): Promise<string[]> {
    const before = this.answered.length
    this.pass(ms)
    await eventually(() => this.answered.length >= before + count)
    return this.answered.slice(before).map(({ name }) => name)
  }

  async end(): Promise<void> {
    await Promise.all(this.#limiters.splice(0).map((limiter) => limiter.close()))
  }
}

/** The same store as another object. */
export function bound(store: Store, change: Partial<Store> = {}): Store {
  return {
    synchronous: store.synchronous,
    atomic: store.atomic ?? false,
    holds: store.holds ?? false,
    slots: store.slots ?? false,
    ...(store.testClock && { testClock: store.testClock }),
    consume: (batch) => store.consume(batch),
    peek: (batch) => store.peek(batch),
    refund: (batch) => store.refund(batch),
    reset: (keys, shard) => store.reset(keys, shard),
    ...change,
  }
}

export const sourcesOf = (all: readonly Sent[]): (string | undefined)[] =>
  all.map(({ decision }) => decision && `${decision.source} ${decision.allowed}`)

/** Units that are left of the first limit. */
export const leftOf = async (limiter: Limiter, id = 'acme'): Promise<number | undefined> =>
  (await limiter.peek(id)).limits[0]?.remaining
