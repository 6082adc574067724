import type { Limiter, LimiterStats, TrafficView } from '@tollgate/core'
import type { FiguresAnswer, OverviewAnswer, ProcessAnswer, SampleAnswer } from './answers.js'
import { reasonOf } from './reports/reason.js'

/** How often figures are read while somebody looks, in ms, and how long samples of them are kept. */
const [EVERY_MS, KEPT_MS] = [2000, 300_000]
/** Just after a start, a rate is no rate yet. */
const LEAST_COVERED_MS = 1000
/** Of each list. */
const [SHOWN, KNOWN] = [50, 200]

type Listener = (overview: OverviewAnswer) => void

/** Live figures for all who look: they are read once for all, and not at all while nobody does. */
export class Live {
  readonly #limiter: Limiter
  readonly #listeners = new Set<Listener>()
  #samples: SampleAnswer[] = []
  #answeredBefore: Counts | undefined
  #reading: Promise<OverviewAnswer> | undefined
  #latest: { readonly overview: OverviewAnswer; readonly atMs: number } | undefined
  #view: TrafficView | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(limiter: Limiter) {
    this.#limiter = limiter
  }

  /** How many follow. */
  get followers(): number {
    return this.#listeners.size
  }

  /** What was seen when figures were read last: the 200 first of each list. */
  get view(): TrafficView | undefined {
    return this.#view
  }

  /** Calls the listener at once, and then every two seconds. Returns what ends that. */
  follow(listener: Listener): () => void {
    this.#listeners.add(listener)
    void this.overview().then((overview) => {
      if (this.#listeners.has(listener)) listener(overview)
      this.#schedule()
    })
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size > 0) return
      clearTimeout(this.#timer)
      this.#timer = undefined
    }
  }

  /** The figures of now, at most two seconds old. Never rejects. */
  overview(): Promise<OverviewAnswer> {
    if (this.#latest && performance.now() < this.#latest.atMs + EVERY_MS)
      return Promise.resolve(this.#latest.overview)
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  #schedule(): void {
    if (this.#timer || this.#listeners.size === 0) return
    this.#timer = setTimeout(() => void this.#tick(), EVERY_MS)
    this.#timer.unref()
  }

  async #tick(): Promise<void> {
    this.#timer = undefined
    this.#latest = undefined
    const overview = await this.overview()
    for (const listener of this.#listeners) listener(overview)
    this.#schedule()
  }

  async #read(): Promise<OverviewAnswer> {
    const beganMs = performance.now()
    let [problem, view, storeMs]: [string?, TrafficView?, number?] = []
    try {
      view = await this.#limiter.traffic({ most: KNOWN })
      storeMs = performance.now() - beganMs
    } catch (error) {
      problem = reasonOf(error)
    }
    this.#view = view
    this.#sample(view, storeMs ?? null)
    const overview: OverviewAnswer = {
      at: new Date().toISOString(),
      figures: view ? firstOf(view) : null,
      ...(problem !== undefined && { problem }),
      process: this.#process(),
      samples: this.#samples,
    }
    this.#latest = { overview, atMs: performance.now() }
    return overview
  }

  #sample(view: TrafficView | undefined, storeMs: number | null): void {
    const at = Date.now()
    const seconds = Math.max(view?.coversMs ?? 0, LEAST_COVERED_MS) / 1000
    const { requests = 0, denied = 0 } = view ?? {}
    const sample = {
      at,
      allowedPerSecond: (requests - denied) / seconds,
      deniedPerSecond: denied / seconds,
      storeMs,
    }
    this.#samples = [...this.#samples.filter((one) => one.at > at - KEPT_MS && one.at < at), sample]
  }

  #process(): ProcessAnswer {
    const { status, openShards, rules } = this.#limiter.health()
    const { decisions, storeErrors, pending, inFlight, waiting, leases } = this.#limiter.stats()
    const counts = countsOf(decisions)
    const answeredBy = difference(counts, this.#answeredBefore)
    this.#answeredBefore = counts
    const hasAnswered = Object.values(counts).some((count) => count > 0)
    const leasedUnits = leases.units - leases.used - leases.returned - leases.lost
    return {
      ...{ status, openShards, ...(rules && { rules }), answeredBy, hasAnswered },
      ...{ storeErrors, pending, inFlight, waiting: waiting.now, leasedUnits },
    }
  }
}

type Counts = Readonly<Record<string, number>>

function countsOf(decisions: LimiterStats['decisions']): Counts {
  return Object.fromEntries(
    Object.entries(decisions).map(([source, { allowed, denied }]) => [source, allowed + denied]),
  )
}

/** What was counted since. */
function difference(counts: Counts, before: Counts | undefined): Counts {
  const since = Object.entries(counts).map(([source, count]) => [source, count - (before?.[source] ?? 0)])
  return Object.fromEntries(since.filter(([, count]) => (count as number) > 0))
}

function firstOf({ busiest, mostDenied, nearest, ...totals }: TrafficView): FiguresAnswer {
  return {
    ...totals,
    busiest: busiest.slice(0, SHOWN),
    mostDenied: mostDenied.slice(0, SHOWN),
    nearest: nearest.slice(0, SHOWN),
  }
}
