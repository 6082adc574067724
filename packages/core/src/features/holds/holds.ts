import { processTiming, type Timing } from '../../base/clocks.js'
import { elapsedMs } from '../../base/timers.js'
import { combineGivenBack, type Feature, type FeatureHost, type GivenBack } from '../../requests/feature.js'
import { type Part, type Request, type Verdict, messageAbout } from '../../requests/request.js'
import type { Answer, Outcome, StoreRequest } from '../../stores/contract.js'
import { isOutcome } from '../../stores/outcome-check.js'
import { heldParts, isHeld, isReserved, refundOfPlace, refundOfTaken } from './hold.js'

/**
 * What a report found.
 * - `ended`: the units were held until now.
 * - `over`: the hold had ended before. The units of a place have entered the limits, those of a reservation came back.
 * - `lost`: the store does not know the hold: its subject was reset, or the store lost its data.
 * - `unknown`: no answer came; the report is repeated.
 * - `unsent`: the limiter was closed.
 */
export type ReportResult = 'ended' | 'over' | 'lost' | 'unknown' | 'unsent'

interface Repeated {
  readonly report: Request
  readonly endsAtMs: number
}

const AGAIN_AFTER_MS = 250
/** The most reports that are repeated. Beyond that the oldest are dropped, and their holds end by themselves. */
const MOST_REPEATED = 10_000
/** A reservation can end this much later than was asked for. */
const LONGER = 1 + 1 / 64

/**
 * Ends the holds of this process, which are reservations or places in line, by reporting to the store what was used of them.
 * A report without an answer is repeated until the hold ends by itself.
 */
export class Holds implements Feature {
  readonly #host: Pick<FeatureHost, 'send' | 'refund'>
  readonly #timing: Timing
  readonly #counts = new ReservationCounts()
  #repeated = new Set<Repeated>()
  /** Set while some are to be repeated. */
  #cancelTimer: (() => void) | undefined
  #isEnded = false

  constructor(host: Pick<FeatureHost, 'send' | 'refund'>, timing = processTiming) {
    this.#host = host
    this.#timing = timing
  }

  /**
   * Ends the hold of a verdict.
   *
   * @param used units of it that count as used from now on
   * @returns for each held part, what the first report found. A repetition may find only what the first one had done
   */
  settle({ step, outcome }: Verdict, used: number): Promise<ReportResult[]> {
    const { at = 0, hold } = outcome ?? {}
    const endsInUs = hold?.endsInUs ?? 0
    const endsAtMs = this.#timing.now() + endsInUs / 1000
    const toResult = (answer: Outcome | undefined): ReportResult => {
      if (!answer) return this.#isEnded ? 'unsent' : 'unknown'
      if (answer.at >= at + endsInUs) return 'over'
      return answer.lease?.isKnown ? 'ended' : 'lost'
    }
    return Promise.all(
      heldParts(step).map(async (part) =>
        toResult(await this.#report(createReport(step, part, used), endsAtMs)),
      ),
    )
  }

  /** Ends a hold whose answer did not come, or came late: the store may have it, and no request uses it. */
  failed(step: Request): void {
    if (!step.hold) return
    const { lengthUs, slackUs } = step.hold
    const endsAtMs = this.#timing.now() + (lengthUs * LONGER + slackUs) / 1000
    for (const part of heldParts(step)) void this.#report(createReport(step, part, 0), endsAtMs)
  }

  late(batch: readonly StoreRequest[], answers: readonly Answer[]): void {
    batch.forEach((request, i) => {
      const answer: unknown = answers[i]
      if (!request.hold || !isOutcome(answer, request)) return
      if (!answer.hold || answer.hold.endsInUs === 0) return
      const step = request as Request
      this.failed(step)
      const taken = refundOfTaken(step, answer, step.cost)
      if (taken) void this.#host.refund(taken)
    })
  }

  giveBack(verdict: Verdict, units: number): Promise<GivenBack> | undefined {
    return isHeld(verdict) ? this.#giveBack(verdict, units) : undefined
  }

  /** What is not given back counts as used now. */
  async #giveBack(verdict: Verdict, units: number): Promise<GivenBack> {
    const { step, outcome } = verdict
    const taken = outcome && refundOfTaken(step, outcome, units)
    const others = taken ? this.#host.refund(taken) : undefined
    const results = await this.settle(verdict, step.cost - units)
    const over = heldParts(step).filter((_, i) => results[i] === 'over')
    const all = results.map(toGivenBack)
    if (over.length > 0 && !isReserved(verdict)) {
      all.push(await this.#host.refund(refundOfPlace(verdict, over, units)))
    }
    if (others) all.push(await others)
    return combineGivenBack(all)
  }

  /** Counts a reservation. Returns a function that counts its end. */
  reserved(lengthMs: number): (how: 'committed' | 'cancelled') => void {
    return this.#counts.made(elapsedMs() + lengthMs)
  }

  stats(): { readonly reservations: ReservationStats } {
    return { reservations: this.#counts.read() }
  }

  end(): void {
    this.#isEnded = true
    this.#cancelTimer?.()
    for (const { report } of this.#repeated) this.#host.send(report, () => {})
    this.#repeated.clear()
  }

  #report(report: Request, endsAtMs: number): Promise<Outcome | undefined> {
    if (this.#isEnded) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#host.send(report, (outcome) => {
        if (!outcome) this.#repeatLater({ report, endsAtMs })
        resolve(outcome)
      })
    })
  }

  #repeatLater(one: Repeated): void {
    if (this.#isEnded) return
    this.#repeated.add(one)
    if (this.#repeated.size > MOST_REPEATED)
      this.#repeated.delete(this.#repeated.values().next().value as Repeated)
    this.#cancelTimer ??= this.#timing.after(AGAIN_AFTER_MS, () => this.#repeat(), false)
  }

  #repeat(): void {
    this.#cancelTimer = undefined
    const due = this.#repeated
    this.#repeated = new Set()
    const nowMs = this.#timing.now()
    for (const one of due) if (one.endsAtMs > nowMs) void this.#report(one.report, one.endsAtMs)
  }
}

/** One part for each message: the grant `lease` is of one key. */
function createReport({ subject, plan, hold }: Request, part: Part, used: number): Request {
  const id = hold?.id ?? ''
  // A store answers `isKnown` to any report of nothing used and nothing left. So everything is reported as held first.
  const held = { id, used: 0, left: part.cost }
  const reports = [...(used === 0 ? [held] : []), { id, used, left: 0 }]
  return { ...messageAbout(part, plan, { grant: 'lease', order: { reports } }), subject }
}

function toGivenBack(result: ReportResult): GivenBack {
  if (result === 'over' || result === 'lost') return 'gone'
  return result === 'ended' ? 'given' : 'unknown'
}

/** How many reservations a limiter made, and what became of them. */
export interface ReservationStats {
  /** Reservations that hold units now. */
  readonly held: number
  /** All reservations. Each was committed or cancelled, has ended by itself, or is held. */
  readonly made: number
  readonly committed: number
  readonly cancelled: number
}

/** Counts reservations. Those that end by themselves are noticed when the counts are read. */
class ReservationCounts {
  readonly #counts = { made: 0, committed: 0, cancelled: 0 }
  /** By when they end, in ms since the process started. */
  #open = new Set<{ readonly endsAtMs: number }>()
  #sortOutAt = 1024

  made(endsAtMs: number): (how: 'committed' | 'cancelled') => void {
    const one = { endsAtMs }
    this.#counts.made += 1
    this.#open.add(one)
    if (this.#open.size > this.#sortOutAt) {
      this.#sortOut()
      this.#sortOutAt = Math.max(1024, 2 * this.#open.size)
    }
    return (how) => {
      this.#open.delete(one)
      this.#counts[how] += 1
    }
  }

  read(): ReservationStats {
    this.#sortOut()
    return { held: this.#open.size, ...this.#counts }
  }

  #sortOut(): void {
    const nowMs = elapsedMs()
    for (const one of this.#open) if (one.endsAtMs <= nowMs) this.#open.delete(one)
  }
}
