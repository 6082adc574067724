import type { Limiter, LimiterEvents, LimiterHealth, LimiterStats } from '@tollgate/core'
import type { Attributes } from './instruments.js'

export type BreakerState = LimiterEvents['breaker'][0]['state']
type LeaseStats = LimiterStats['leases']

/** The state of the limiters whose series have the same attributes. */
export interface Overview {
  readonly attributes: Attributes
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

/** A limiter that is observed. */
export interface Watched {
  /** Weak, so that an unused limiter can be garbage collected. */
  readonly limiter: WeakRef<Limiter>
  /** Who observes it. */
  readonly owner: object
  readonly attributes: Attributes
  /** The attributes as one text. */
  readonly series: string
  /** Whether to observe it once more after it was closed, and then no longer until it is used again. */
  readonly forgetsClosed: boolean
  /** By the store's shard: the last state that an event told. */
  readonly breakers: Map<number, BreakerState>
  /** As of the last look. */
  leases: LeaseStats
  /** Whether it is on the watchlist. */
  isOn: boolean
}

/** The limiters that are observed. */
export class Watchlist {
  readonly #watched = new Set<Watched>()

  add(watched: Watched): void {
    watched.isOn = true
    this.#watched.add(watched)
  }

  /** Removes all limiters of one owner. */
  drop(owner: object): void {
    for (const watched of this.#watched) if (watched.owner === owner) this.#remove(watched)
  }

  #remove(watched: Watched): void {
    watched.isOn = false
    this.#watched.delete(watched)
  }

  look(): Iterable<Overview> {
    const overviews = new Map<string, Overview>()
    for (const watched of this.#watched) {
      const limiter = watched.limiter.deref()
      const status = limiter && lookAt(limiter, watched, overviews)
      if (!limiter || (status === 'closed' && watched.forgetsClosed)) this.#remove(watched)
    }
    return overviews.values()
  }
}

function lookAt(
  limiter: Limiter,
  watched: Watched,
  overviews: Map<string, Overview>,
): LimiterHealth['status'] {
  const overview = overviews.get(watched.series) ?? emptyOverview(watched.attributes)
  overviews.set(watched.series, overview)
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

function emptyOverview(attributes: Attributes): Overview {
  return {
    attributes,
    pending: 0,
    inFlight: 0,
    waiting: 0,
    limiters: { ok: 0, degraded: 0, closed: 0 },
    leases: { granted: 0, refused: 0, renewals: 0, units: 0, used: 0, returned: 0, lost: 0, held: 0 },
    breakers: new Map(),
  }
}
