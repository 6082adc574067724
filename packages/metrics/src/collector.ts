import { processWide, toError, warn } from '@tollgate/core/adapter'
import { ATTRIBUTES, type Observe, type Sink } from './instruments.js'
import { Ledger } from './ledger.js'
import { VERSION } from './options.js'
import { Watchlist, type Overview } from './watchlist.js'

/** By the meter or registry. */
const collectors = processWide(`collectors of metrics ${VERSION}`, () => new WeakMap<object, Collector>())

/** The collector for a meter or a registry. There is one for each, or limiters with one name would overwrite each other's values. */
export function collectorFor(target: object, createSink: () => Sink): Collector {
  const collector = collectors.get(target) ?? new Collector(createSink())
  collectors.set(target, collector)
  return collector
}

/** Collects what all limiters do whose metrics go to one meter or registry. */
export class Collector {
  readonly sink: Sink
  readonly ledger: Ledger
  readonly watchlist = new Watchlist()
  /** How many recordings use it. */
  #users = 0
  #hasWarned = false

  constructor(sink: Sink) {
    this.sink = sink
    this.ledger = new Ledger(sink, (error) => this.warn(error))
  }

  enter(): void {
    this.sink.open(this.#collect)
    this.#users += 1
  }

  /** Records what is pending. Observes the limiters of this owner no longer. */
  leave(owner: object): void {
    this.#collect(() => {})
    this.watchlist.drop(owner)
    this.#users -= 1
    if (this.#users === 0) this.attempt(() => this.sink.close())
  }

  /** Runs work that may fail. Events come in the middle of a request, and an error here must not make the request fail. */
  attempt(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.warn(error)
    }
  }

  /** Warns only once, since every request may cause the error. */
  warn(error: unknown): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    warn('TOLLGATE_METRICS', `Metrics could not be recorded: ${toError(error).message}`)
  }

  readonly #collect = (observe: Observe): void => {
    // Add the current turn's sums first, so that this collection includes them.
    this.ledger.flush()
    this.attempt(() => {
      for (const overview of this.watchlist.look()) {
        this.#addLeases(overview)
        observeAll(overview, observe)
      }
    })
  }

  /** Adds to counters. An observed sum over limiters would fall when one of them is forgotten. */
  #addLeases({ attributes, leases: { units, used, returned, lost, renewals } }: Overview): void {
    for (const [change, count] of Object.entries({ granted: units, used, returned, lost })) {
      if (count > 0) this.sink.add('leaseUnits', count, { ...attributes, [ATTRIBUTES.lease]: change })
    }
    if (renewals > 0) this.sink.add('leaseRenewals', renewals, attributes)
  }
}

function observeAll({ attributes, ...now }: Overview, observe: Observe): void {
  observe('pending', now.pending, attributes)
  observe('inFlight', now.inFlight, attributes)
  observe('waiting', now.waiting, attributes)
  observe('leasesHeld', now.leases.held, attributes)
  for (const [status, count] of Object.entries(now.limiters))
    observe('limiterStatus', count, { ...attributes, [ATTRIBUTES.limiterState]: status })
  for (const [shard, states] of now.breakers) {
    for (const [state, count] of Object.entries(states))
      observe('breakerStatus', count, {
        ...attributes,
        [ATTRIBUTES.breakerState]: state,
        [ATTRIBUTES.shard]: shard,
      })
  }
}
