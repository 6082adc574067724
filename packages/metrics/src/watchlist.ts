import type { BreakerState, Limiter, LimiterHealth } from '@tollgate/core'
import { needLimiter } from './options.js'

/** The state of all limiters: how many of them are in each state. */
export interface Overview {
  /** Requests that wait for the store, in all limiters together. */
  pending: number
  readonly limiters: Record<LimiterHealth['status'], number>
  /** By shard of the store. */
  readonly breakers: Map<number, Record<BreakerState, number>>
}

/** By shard of the store. */
type BreakerStates = Map<number, BreakerState>

/** The limiters that are observed. References are weak, so that unused limiters can be garbage collected. */
export class Watchlist {
  readonly #forgetsClosed: boolean
  readonly #states = new WeakMap<Limiter, BreakerStates>()
  readonly #watched = new Map<BreakerStates, WeakRef<Limiter>>()

  /** @param forgetsClosed whether to drop a closed limiter after one more observation, until it is used again */
  constructor(forgetsClosed: boolean) {
    this.#forgetsClosed = forgetsClosed
  }

  /** @throws {ConfigError} when it is not a limiter */
  add(limiter: Limiter): void {
    if (this.#states.has(limiter)) return
    needLimiter(limiter)
    // Shard 0 stands for a store without shards. Other shards become known when their breaker changes.
    const states: BreakerStates = new Map([[0, 'closed']])
    this.#states.set(limiter, states)
    this.#watched.set(states, new WeakRef(limiter))
  }

  /** @param limiter must have been added */
  noteBreaker(limiter: Limiter, shard: number, state: BreakerState): void {
    this.#states.get(limiter)?.set(shard, state)
  }

  look(): Overview {
    const overview = { pending: 0, limiters: { ok: 0, degraded: 0, closed: 0 }, breakers: new Map() }
    for (const [states, ref] of this.#watched) {
      const limiter = ref.deref()
      const status = limiter && lookAt(limiter, states, overview)
      if (limiter && !(status === 'closed' && this.#forgetsClosed)) continue
      this.#watched.delete(states)
      if (limiter) this.#states.delete(limiter)
    }
    return overview
  }
}

function lookAt(limiter: Limiter, heard: BreakerStates, overview: Overview): LimiterHealth['status'] {
  const { status, openShards } = limiter.health()
  overview.limiters[status] += 1
  overview.pending += limiter.stats().pending
  for (const shard of new Set([...heard.keys(), ...openShards])) {
    const counts = overview.breakers.get(shard) ?? { closed: 0, open: 0, 'half-open': 0 }
    overview.breakers.set(shard, counts)
    // health() wins over events: a breaker may have opened before the first listener.
    if (!openShards.includes(shard)) counts.closed += 1
    else if (heard.get(shard) === 'half-open') counts['half-open'] += 1
    else counts.open += 1
  }
  return status
}
