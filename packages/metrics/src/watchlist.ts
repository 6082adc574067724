import type { BreakerState, Limiter, LimiterHealth } from '@tollgate/core'
import { needLimiter } from './options.js'

/** Where limiters stand: how many of them are in each state. */
export interface Overview {
  pending: number
  readonly limiters: Record<LimiterHealth['status'], number>
  /** By the shard of the store. */
  readonly breakers: Map<number, Record<BreakerState, number>>
}

/** By the shard of the store. */
type BreakerStates = Map<number, BreakerState>

/** The limiters that are watched. It keeps none of them alive. */
export class Watchlist {
  readonly #forgetsClosed: boolean
  readonly #states = new WeakMap<Limiter, BreakerStates>()
  readonly #watched = new Map<BreakerStates, WeakRef<Limiter>>()

  /** @param forgetsClosed whether a limiter that was closed is told of once more, and then only when it is used */
  constructor(forgetsClosed: boolean) {
    this.#forgetsClosed = forgetsClosed
  }

  /** @throws {ConfigError} when it is no limiter */
  add(limiter: Limiter): void {
    if (this.#states.has(limiter)) return
    needLimiter(limiter)
    // The whole of a store that has one shard. Others are known once their breaker has changed.
    const states: BreakerStates = new Map([[0, 'closed']])
    this.#states.set(limiter, states)
    this.#watched.set(states, new WeakRef(limiter))
  }

  /** @param limiter one that was added */
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
    // The limiter's own word goes first: it may have opened before anyone listened.
    if (!openShards.includes(shard)) counts.closed += 1
    else if (heard.get(shard) === 'half-open') counts['half-open'] += 1
    else counts.open += 1
  }
  return status
}
