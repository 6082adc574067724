import type { Limiter, LimiterEvents, LimiterHealth, LimiterStats } from '@tollgate/core'
import { needLimiter } from './options.js'

type BreakerState = LimiterEvents['breaker'][0]['state']
type LeaseStats = LimiterStats['leases']

/** The state of all limiters together. */
export interface Overview {
  /** Requests that wait for the store. */
  pending: number
  /** Requests in flight that a limit counts. */
  inFlight: number
  /** Requests that wait in line. */
  waiting: number
  /** How many limiters have each status. */
  readonly limiters: Record<LimiterHealth['status'], number>
  /** `held`: as of now. All others: since the last look. */
  readonly leases: Record<keyof LeaseStats, number>
  /** By the store's shard: how many breakers are in each state. */
  readonly breakers: Map<number, Record<BreakerState, number>>
}

/** By the store's shard. */
type BreakerStates = Map<number, BreakerState>

interface Watched {
  readonly breakers: BreakerStates
  /** As of the last look. */
  leases: LeaseStats
}

/** The limiters that are observed. References are weak, so that unused limiters can be garbage collected. */
export class Watchlist {
  readonly #forgetsClosed: boolean
  readonly #states = new WeakMap<Limiter, Watched>()
  readonly #watched = new Map<Watched, WeakRef<Limiter>>()

  /** @param forgetsClosed whether to observe a closed limiter once more, and then drop it until it is used again */
  constructor(forgetsClosed: boolean) {
    this.#forgetsClosed = forgetsClosed
  }

  /** @throws {ConfigError} when it is not a limiter */
  add(limiter: Limiter): void {
    if (this.#states.has(limiter)) return
    needLimiter(limiter)
    // Shard 0 stands for a store without shards. Other shards become known when their breakers change.
    const states: Watched = { breakers: new Map([[0, 'closed']]), leases: limiter.stats().leases }
    this.#states.set(limiter, states)
    this.#watched.set(states, new WeakRef(limiter))
  }

  /** @param limiter must have been added */
  noteBreaker(limiter: Limiter, shard: number, state: BreakerState): void {
    this.#states.get(limiter)?.breakers.set(shard, state)
  }

  look(): Overview {
    const overview: Overview = {
      pending: 0,
      inFlight: 0,
      waiting: 0,
      limiters: { ok: 0, degraded: 0, closed: 0 },
      leases: { granted: 0, refused: 0, renewals: 0, units: 0, used: 0, returned: 0, lost: 0, held: 0 },
      breakers: new Map(),
    }
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

function lookAt(limiter: Limiter, watched: Watched, overview: Overview): LimiterHealth['status'] {
  const { status, openShards } = limiter.health()
  const { pending, inFlight, waiting, leases } = limiter.stats()
  const { breakers: heard } = watched
  overview.limiters[status] += 1
  overview.pending += pending
  overview.inFlight += inFlight
  overview.waiting += waiting.now
  for (const name of Object.keys(overview.leases) as (keyof LeaseStats)[]) {
    overview.leases[name] += name === 'held' ? leases.held : leases[name] - watched.leases[name]
  }
  watched.leases = leases
  for (const shard of new Set([...heard.keys(), ...openShards])) {
    const counts = overview.breakers.get(shard) ?? { closed: 0, open: 0, 'half-open': 0 }
    overview.breakers.set(shard, counts)
    // health() wins over events, since a breaker may have opened before this listened.
    if (!openShards.includes(shard)) counts.closed += 1
    else if (heard.get(shard) === 'half-open') counts['half-open'] += 1
    else counts.open += 1
  }
  return status
}
