import type { LimitSet } from '../../plans/limit/limit-set.js'
import { isDenying } from '../../plans/limit/overage-limit.js'
import { UNKNOWN } from '../../requests/request.js'
import type { LimitOutcome, Outcome } from '../../stores/contract.js'

/** A denial of the store for one key. Times are ms of the clock that denials age by. */
export interface RememberedDenial {
  readonly set: LimitSet
  readonly cost: number
  /** The store's answer, for the limits of this key only. */
  readonly outcome: Outcome
  /** Before the call was sent. The store decided no earlier, so until `sentAt` and the wait nothing fits. */
  readonly sentAt: number
  /** When the reply was read. The store decided no later, so after `arrivedAt` and the wait it fits. */
  readonly arrivedAt: number
  /** Until then some limit that denies has no unit left. So no request can pass, and the other limits do not change either. */
  readonly stillUntil: number
  /** It denies until then. Afterwards the cost may fit, or the store has not confirmed the denial. */
  until: number
  /** How many units it lacked while some were on lease, perhaps here; Infinity if none were, or units would not help. */
  readonly lacking: number
  /** From then on, one request asks the store whether the denial still holds. */
  recheckAt: number
  /** What was reported last, as of when, and until when that stays the same in whole ms. */
  reported: Outcome
  reportedAt: number
  reportedUntil: number
  /** A denial of the same key for another cost or other limits. */
  next: RememberedDenial | undefined
}

export interface Learnt {
  readonly set: LimitSet
  readonly cost: number
  readonly outcome: Outcome
  readonly sentAt: number
  readonly arrivedAt: number
  readonly recheckMs: number
  readonly lacking: number
}

/** Returns undefined if it would deny nothing, because it is over by now. */
export function rememberDenial(learnt: Learnt): RememberedDenial | undefined {
  const { outcome, sentAt, arrivedAt } = learnt
  let fitsAt = sentAt
  let stillUntil = sentAt
  for (const [i, { wait, remaining, reset }] of outcome.limits.entries()) {
    fitsAt = Math.max(fitsAt, isNever(wait) ? Infinity : sentAt + wait / 1000)
    const limit = learnt.set.limits[i]
    if (remaining === 0 && (!limit || isDenying(limit)))
      stillUntil = Math.max(stillUntil, sentAt + reset / 1000)
  }
  const recheckAt = sentAt + learnt.recheckMs
  if (arrivedAt >= Math.min(fitsAt, recheckAt)) return undefined
  const { set, cost, lacking } = learnt
  const denies = { sentAt, arrivedAt, stillUntil, until: fitsAt, lacking, recheckAt }
  return {
    set,
    cost,
    outcome,
    ...denies,
    reported: outcome,
    reportedAt: Infinity,
    reportedUntil: 0,
    next: undefined,
  }
}

/**
 * The store's answer as of `now`, which must be before `until`, as far as it is certain. A limit in which the cost fits by
 * now is no longer violated. Where another unit may have come or gone, `remaining` is not known.
 */
export function outcomeAt(denial: RememberedDenial, now: number): Outcome {
  if (now >= denial.reportedUntil || now < denial.reportedAt) reportAt(denial, now)
  return denial.reported
}

function reportAt(denial: RememberedDenial, now: number): void {
  const { outcome, sentAt, arrivedAt, stillUntil } = denial
  // Whole µs, like the store's times: otherwise an error in the last digit could become 1 ms.
  const ageUs = Math.round((now - arrivedAt) * 1000)
  let reportedUntil = now + 1
  /** How much of `us` is left. Notes when that changes in whole ms, and the earliest time at which it is over. */
  const left = (us: number): number => {
    const rest = us - ageUs
    reportedUntil = Math.min(reportedUntil, now + (rest - 1000 * (Math.ceil(rest / 1000) - 1)) / 1000)
    return now < sentAt + us / 1000 ? rest : 0
  }
  const limits = outcome.limits.map(({ wait, remaining, reset, block, over }): LimitOutcome => {
    const waitNow = isNever(wait) ? wait : left(wait)
    const resetNow = left(reset)
    const isCertain = now < stillUntil && (reset === 0 || resetNow > 0)
    const told = { wait: waitNow, remaining: isCertain ? remaining : UNKNOWN, reset: resetNow }
    const limit = over === undefined ? told : { ...told, over }
    const endsInUs = block ? left(block.endsInUs) : 0
    return block && endsInUs > 0 ? { ...limit, block: { endsInUs, level: block.level } } : limit
  })
  denial.reported = { at: outcome.at + ageUs, limits }
  denial.reportedAt = now
  denial.reportedUntil = Math.min(reportedUntil, endOfCertainty(denial, now))
}

/** The next time at which something that is certain now no longer is. */
function endOfCertainty({ outcome, sentAt, stillUntil }: RememberedDenial, now: number): number {
  let next = Infinity
  const note = (at: number): void => void (at > now && at < next && (next = at))
  note(stillUntil)
  for (const { wait, reset, block } of outcome.limits) {
    note(sentAt + wait / 1000)
    note(sentAt + reset / 1000)
    if (block) note(sentAt + block.endsInUs / 1000)
  }
  return next
}

function isNever(wait: number): boolean {
  return wait < 0
}

/** The limit of requests in flight denies nothing from memory, and its numbers are not known there. */
export function exceptSlots(limits: readonly LimitOutcome[], slots: number): readonly LimitOutcome[] {
  return limits.map((limit, i) => (i === slots ? { wait: 0, remaining: UNKNOWN, reset: 0 } : limit))
}
