// The processes of a schedule. Those that lease have a way to the store that is watched, and that can be cut.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import type { LeaseChange } from '../../src/features/leases/lease-reporter.js'
import type { Limiter, Store } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'
import { placesOf, plansInput, type Places } from './places.js'
import { limiterOn, type Road } from './road.js'
import type { Plans, Schedule } from './schedule.js'
import { ANSWERED_WITHIN_MS, NoAnswer } from './within.js'

/** The clock that a test sets; undefined: real time. */
type Now = (() => number) | undefined

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
    const { rules } = inner
    return asyncStore(
      {
        ...(now && { testClock: now }),
        ready: () => inner.ready?.(),
        ...(inner.shards !== undefined && { shards: inner.shards }),
        consume: async (batch, call) => send(() => inner.consume(batch, call)),
        peek: async (batch, call) => send(() => inner.peek(batch, call)),
        refund: async (batch) => send(() => inner.refund(batch)),
        reset: async (keys, shard) => send(() => inner.reset(keys, shard)),
        ...(rules && { rules: { sync: async (call) => send(() => rules.sync(call)) } }),
      },
      inner,
    )
  }
}

/** What a process is started with. */
interface Start {
  readonly road: Pick<Road, 'denials'>
  readonly schedule: Pick<Schedule, 'own' | 'stacked' | 'leases'>
  readonly plans: Plans
  readonly store: Store
  readonly now?: Now
  onLease?(change: LeaseChange): void
}

export class Process {
  readonly limiter: Limiter
  readonly places: Places
  readonly #wire = new Wire()

  constructor({ road, schedule, plans, store, now, onLease }: Start) {
    const { leases } = schedule
    this.limiter = limiterOn(road, leases ? this.#wire.around(store, now) : store, plansInput(plans, leases))
    this.limiter.on('lease', (change) => {
      if (!this.#wire.isCut) onLease?.(change)
    })
    this.places = placesOf(this.limiter, schedule, leases)
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
export async function untilIdle(processes: readonly Process[]): Promise<void> {
  await until(processes, ({ isBusy }) => isBusy, 'a message to the store')
}

/** Waits until all of them have seen that their leases ended, too. */
export async function untilWithout(processes: readonly Process[]): Promise<void> {
  const holds = ({ isBusy, limiter }: Process): boolean => isBusy || limiter.stats().leases.held > 0
  await until(processes, holds, 'the end of a lease')
}

async function until(
  processes: readonly Process[],
  isOpen: (one: Process) => boolean,
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
