// Processes that lease from one store, as limiters with stores of their own around it.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, type Decision, type LeaseChange, type Limiter, type Store } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'
import type { LeaseSchedule, ProcessAsk } from './lease-schedule.js'
import { placesOf, plansInput, type Places } from './places.js'
import type { Plans } from './schedule.js'
import { answered, ANSWERED_WITHIN_MS, NoAnswer } from './within.js'

type Told = (change: LeaseChange) => void
/** The clock that a test sets; undefined: real time. */
export type Now = (() => number) | undefined

/** The way to the store: it counts what is under way, and can be cut, as when the process dies. */
export class Wire {
  pending = 0
  isCut = false

  around(inner: Store, now: Now): Store {
    const send = async <T>(call: () => T | PromiseLike<T>): Promise<T> => {
      if (this.isCut) throw new Error('this process is dead')
      this.pending += 1
      try {
        return await call()
      } finally {
        this.pending -= 1
      }
    }
    return asyncStore(
      {
        ...(now && { testClock: now }),
        ready: () => inner.ready?.(),
        ...(inner.shards !== undefined && { shards: inner.shards }),
        consume: async (batch, call) => send(() => inner.consume(batch, call)),
        peek: async (batch, call) => send(() => inner.peek(batch, call)),
        refund: async (batch) => send(() => inner.refund(batch)),
        reset: async (keys, shard) => send(() => inner.reset(keys, shard)),
      },
      inner,
    )
  }
}

export class LeasingProcess {
  readonly limiter: Limiter
  readonly #places: Places
  readonly #wire = new Wire()

  constructor(inner: Store, schedule: LeaseSchedule, plans: Plans, now: Now, told: Told) {
    this.limiter = createLimiter({
      plans: plansInput(plans, schedule.leases),
      defaultPlan: 'free',
      store: this.#wire.around(inner, now),
      deadlineMs: 10_000,
      onStoreFailure: 'closed',
      local: { instances: 1 },
      warnings: false,
    })
    this.limiter.on('lease', (change) => {
      if (!this.#wire.isCut) told(change)
    })
    this.#places = placesOf(this.limiter, schedule, schedule.leases)
  }

  async consume({ place, who, cost }: ProcessAsk): Promise<Decision> {
    return answered(this.#places[place].consume(who, { cost }), 'a request')
  }

  async peek({ place, who, cost }: Omit<ProcessAsk, 'process'>): Promise<Decision> {
    return answered(this.#places[place].peek(who, { cost }), 'a look')
  }

  get isBusy(): boolean {
    return this.#wire.pending > 0
  }

  /** Nothing of it reaches the store any more, nor does it tell anything. */
  crash(): void {
    this.#wire.isCut = true
  }
}

/** Waits until no process has a message under way. */
export async function untilIdle(processes: readonly LeasingProcess[]): Promise<void> {
  await until(processes, ({ isBusy }) => isBusy, 'a message to the store')
}

/** Waits until all of them have seen that their leases ended, too. */
export async function untilWithout(processes: readonly LeasingProcess[]): Promise<void> {
  const holds = ({ isBusy, limiter }: LeasingProcess): boolean => isBusy || limiter.stats().leases.held > 0
  await until(processes, holds, 'the end of a lease')
}

async function until(
  processes: readonly LeasingProcess[],
  isOpen: (one: LeasingProcess) => boolean,
  what: string,
): Promise<void> {
  const end = performance.now() + ANSWERED_WITHIN_MS
  // Twice, since an answer may lead to another message.
  for (let seen = 0; seen < 2;) {
    await turn()
    seen = processes.some(isOpen) ? 0 : seen + 1
    if (seen > 0) continue
    await sleep(1)
    if (performance.now() > end) throw new NoAnswer(`${what} did not come within ${ANSWERED_WITHIN_MS} ms`)
  }
}
