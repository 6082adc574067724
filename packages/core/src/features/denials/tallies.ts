import { LruMap } from '../../base/caches.js'
import type { Part, Request } from '../../requests/request.js'
import type { DenialTally } from '../../stores/blocks.js'

interface Tally {
  readonly number: number
  /** When the first of its denials was, in ms of the clock that denials age by. */
  readonly sinceMs: number
  total: number
  /** The total of the latest report, and when it was made. */
  reported: number
  reportedAtMs: number
}

/**
 * Counts the denials that this process answers from memory, for plans whose denials block. The next request that asks the store
 * reports them. They are totals, so the store counts each once, whatever reply is lost.
 */
export class Tallies {
  readonly #by: string
  readonly #ofKeys: LruMap<Tally>
  #latest = 0

  /** @param by as in DenialTally */
  constructor(by: string, size: number) {
    this.#by = by
    this.#ofKeys = new LruMap(size)
  }

  /** How many keys have denials that the store has not counted, for tests. */
  get size(): number {
    return this.#ofKeys.size
  }

  count(key: string, nowMs: number): void {
    const known = this.#ofKeys.get(key)
    if (known) known.total += 1
    else this.#begin(key, 1, nowMs)
  }

  /** Whether a key has so many that they block it, should the store count them all. */
  areEnough({ key, set: { blockAfter } }: Part): boolean {
    return blockAfter !== undefined && (this.#ofKeys.get(key)?.total ?? 0) >= blockAfter.denials
  }

  /** The request with what it reports. */
  report(request: Request, nowMs: number): Request {
    if (this.#ofKeys.size === 0) return request
    const parts = this.#reportEach(request.parts, nowMs)
    if (parts === request.parts) return request
    const of = (some: readonly Part[]): Part[] =>
      some.map((part) => parts[request.parts.indexOf(part)] ?? part)
    const steps = request.steps?.map((step) => ({ ...step, parts: of(step.parts) }))
    return { ...request, parts, steps }
  }

  #reportEach(parts: readonly Part[], nowMs: number): readonly Part[] {
    const tallies = parts.map((part) => this.#tallyOf(part, nowMs))
    if (tallies.every((tally) => tally === undefined)) return parts
    return parts.map((part, i) => (tallies[i] ? { ...part, tally: tallies[i] } : part))
  }

  #tallyOf({ key, set: { blockAfter } }: Part, nowMs: number): DenialTally | undefined {
    const tally = blockAfter && this.#ofKeys.get(key)
    if (!tally) return undefined
    const ageUs = Math.max(Math.round((nowMs - tally.sinceMs) * 1000), 0)
    if (ageUs >= blockAfter.withinUs) {
      this.#ofKeys.delete(key)
      return undefined
    }
    tally.reported = tally.total
    tally.reportedAtMs = nowMs
    return { by: this.#by, number: tally.number, total: tally.total, ageUs }
  }

  /** The store has answered a request with this report. What was denied since is a new tally. */
  counted(key: string, { number, total }: DenialTally): void {
    const tally = this.#ofKeys.get(key)
    // A later report is under way: which of the two the store has counted is known when that is answered.
    if (tally?.number !== number || tally.reported !== total) return
    if (tally.total === total) this.#ofKeys.delete(key)
    else this.#begin(key, tally.total - total, tally.reportedAtMs)
  }

  forget(key: string): void {
    this.#ofKeys.delete(key)
  }

  #begin(key: string, total: number, sinceMs: number): void {
    this.#latest += 1
    this.#ofKeys.use(key, { number: this.#latest, sinceMs, total, reported: 0, reportedAtMs: 0 })
  }
}
