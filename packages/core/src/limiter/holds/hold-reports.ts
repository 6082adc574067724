import { processTiming, type Timing } from '../../base/clocks.js'
import type { FastPathHost } from '../../features/fast-path.js'
import type { Part, Request } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'
import type { Outcome, LimitOutcome, RefundRequest } from '../../stores/contract.js'
import { refundOf } from '../../stores/receipts.js'

/**
 * What a report found.
 * - `ended`: the units were held, and are so no more.
 * - `over`: the hold had ended before. The units of a place have entered the limits, those of a reservation came back.
 * - `lost`: the store does not know the hold: its subject was reset, or the store lost its data.
 * - `unknown`: no answer came; the report is repeated.
 * - `unsent`: the limiter was closed.
 */
export type Found = 'ended' | 'over' | 'lost' | 'unknown' | 'unsent'

interface Repeated {
  readonly report: Request
  readonly endsAtMs: number
}

const AGAIN_AFTER_MS = 250
/** The most reports that are repeated; beyond it the oldest are dropped, and those holds end by themselves. */
const MOST_REPEATED = 10_000
/** A reservation can end so much later than was asked for. */
const LONGER = 1 + 1 / 64

/** Tells the store what was used of reservations and places, and so ends them. Reports are repeated until the hold's end. */
export class HoldReports {
  readonly #send: FastPathHost['send']
  readonly #timing: Timing
  #repeated = new Set<Repeated>()
  /** Set while some are to be repeated. */
  #cancelTimer: (() => void) | undefined
  #isEnded = false

  constructor(send: FastPathHost['send'], timing = processTiming) {
    this.#send = send
    this.#timing = timing
  }

  /**
   * Ends the hold of a verdict.
   *
   * @param used units of it that count as used from now on
   * @returns for each part that is held what the first report found: a repetition cannot tell whether one before it came through
   */
  settle({ step, outcome }: Verdict, used: number): Promise<Found[]> {
    const { at = 0, hold } = outcome ?? {}
    const endsInUs = hold?.endsInUs ?? 0
    const endsAtMs = this.#timing.now() + endsInUs / 1000
    const foundBy = (answer: Outcome | undefined): Found => {
      if (!answer) return this.#isEnded ? 'unsent' : 'unknown'
      if (answer.at >= at + endsInUs) return 'over'
      return answer.lease?.isKnown ? 'ended' : 'lost'
    }
    return Promise.all(
      heldParts(step).map(async (part) => foundBy(await this.#report(reportOf(step, part, used), endsAtMs))),
    )
  }

  /** Ends a hold whose answer did not come, or came late: it may be there, and nobody uses it. */
  cancel(step: Request): void {
    if (!step.hold) return
    const { lengthUs, slackUs } = step.hold
    const endsAtMs = this.#timing.now() + (lengthUs * LONGER + slackUs) / 1000
    for (const part of heldParts(step)) void this.#report(reportOf(step, part, 0), endsAtMs)
  }

  /** Sends what is still to be repeated a last time. Nothing is sent from then on. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#cancelTimer?.()
    for (const { report } of this.#repeated) this.#send(report, () => {})
    this.#repeated.clear()
  }

  #report(report: Request, endsAtMs: number): Promise<Outcome | undefined> {
    if (this.#isEnded) return Promise.resolve(undefined)
    return new Promise((resolve) => {
      this.#send(report, (outcome) => {
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
function reportOf({ subject, plan, hold }: Request, part: Part, used: number): Request {
  const id = hold?.id ?? ''
  // A store says that it knows whatever is reported as unused and given back. So first it is told that all is still held.
  const held = { id, used: 0, left: part.cost }
  const reports = [...(used === 0 ? [held] : []), { id, used, left: 0 }]
  const { limits, shard } = part
  const parts = [{ ...part, cost: 1, slots: undefined }]
  return { subject, plan, cost: 1, parts, limits, shard, grant: 'lease', order: { reports } }
}

/** Whether units of a verdict were put beside the limits, as a reservation or a place. */
export function isHeld({ allowed, outcome }: Verdict): boolean {
  return allowed && outcome?.hold !== undefined && outcome.hold.endsInUs > 0
}

/** Whether they come back at the end, and never enter the limits unless they are reported as used. */
export function isReserved(verdict: Verdict): boolean {
  return isHeld(verdict) && verdict.step.hold?.kind === 'reservation'
}

/** The parts whose units are held. Of a place that is only those that can wait: the others are taken at once. */
export function heldParts({ hold, parts }: Pick<Request, 'hold' | 'parts'>): readonly Part[] {
  return hold?.kind === 'place' ? parts.filter(({ set }) => set.wait) : parts
}

/** The parts whose units were taken at once beside those that are held. */
function takenParts(step: Pick<Request, 'hold' | 'parts'>): readonly Part[] {
  const held = heldParts(step)
  return step.parts.filter((part) => !held.includes(part))
}

/** What an outcome says of the limits of some parts. */
export function limitsOfParts(
  step: Pick<Request, 'parts'>,
  { limits }: Pick<Outcome, 'limits'>,
  parts: readonly Part[],
): LimitOutcome[] {
  let next = 0
  return step.parts.flatMap((part) => {
    const own = limits.slice(next, (next += part.set.limits.length))
    return parts.includes(part) ? own : []
  })
}

/** The same request without what it holds, to take more units as any other does. */
export function withoutHold(request: Request): Request {
  return { ...request, hold: undefined, steps: request.steps?.map(withoutHold) }
}

/**
 * Gives units of a place back that has ended, so that they entered the limits then. Nobody told what else was in the limits at that
 * moment. Of a bucket they count as the first to drain since the time of the place, so that no more goes back than can still be
 * there: what was told when it was booked is how long the next unit takes behind all that wait.
 *
 * @param parts those of the verdict's parts whose units entered
 */
export function refundOfPlace(
  { step, outcome }: Verdict,
  parts: readonly Part[],
  units: number,
): RefundRequest {
  const { at = 0, hold } = outcome ?? {}
  const { delayUs = 0, endsInUs = 0 } = hold ?? {}
  const entered = parts.flatMap(({ limits }) =>
    limits.map(({ capacity, quota, windowMs }) => ({
      ...{ wait: 0, remaining: Math.max(capacity - step.cost, 0) },
      // At the end of the place the first unit has drained since its time: below 0 it is gone, and so may be others.
      reset: Math.floor((windowMs * 1000) / quota) - (endsInUs - delayUs),
    })),
  )
  return refundOf({ shard: step.shard, parts }, { at: at + endsInUs, limits: entered }, units)
}

/** Gives units back that were taken at once beside a place; undefined if there are none. */
export function refundOfTaken(
  step: Pick<Request, 'shard' | 'hold' | 'parts'>,
  outcome: Outcome,
  units: number,
): RefundRequest | undefined {
  const parts = takenParts(step)
  if (parts.length === 0) return undefined
  const { at } = outcome
  return refundOf({ shard: step.shard, parts }, { at, limits: limitsOfParts(step, outcome, parts) }, units)
}
