import { GenerationalCache } from '../../base/caches.js'
import { UNIT_MS } from '../../base/duration.js'
import { show, TollgateError } from '../../base/errors.js'
import { billedSet, idOfBillingDay, wrongInBillingDay, type BillingDay } from '../../plans/billed-set.js'
import type { LimitSet } from '../../plans/limit/limit-set.js'
import type { Plan } from '../../plans/plan.js'
import type { Subject } from '../../plans/subject.js'
import { isNone } from '../subject/subject.js'

/** At least this many different days are remembered of each plan and time zone, and at most twice as many. */
const MOST = 10_000

/** A plan, by what its subjects say of their day. */
interface PlanByDay {
  readonly hasYears: boolean
  /** By time zone, then by anchor: to join the two would take longer than to look both up. */
  readonly given: Map<string, GenerationalCache<Plan>>
  /** By the id of the day: days of equal windows share a plan. */
  readonly distinct: GenerationalCache<Plan>
}

/** The plans of subjects with a billing day. Days of equal windows share one, so that 10 000 subjects need no plan each. */
export class BillingDays {
  readonly #isCounted: (set: LimitSet) => boolean
  readonly #plans = new WeakMap<Plan, PlanByDay>()

  /** @param isCounted whether the store can count these limits */
  constructor(isCounted: (set: LimitSet) => boolean) {
    this.#isCounted = isCounted
  }

  /** @throws {TollgateError} ERR_TOLLGATE_SUBJECT when the subject's anchor or time zone is wrong, or the store cannot count by it */
  planFor(plan: Plan, { anchor, timeZone }: Subject): Plan {
    const byDay = this.#plans.get(plan) ?? this.#add(plan)
    const zone = isNone(timeZone) ? '' : timeZone || 'empty'
    const key = isDate(anchor) ? anchor : keyOf(anchor)
    const known = byDay.given.get(zone)?.refresh(key)
    if (known) return known
    const billed = this.#read(plan, byDay, { anchor: anchor ?? undefined, timeZone: timeZone ?? undefined })
    const ofZone = byDay.given.get(zone) ?? new GenerationalCache(MOST)
    byDay.given.set(zone, ofZone)
    ofZone.set(key, billed)
    return billed
  }

  #add(plan: Plan): PlanByDay {
    const hasYears = plan.limits.some(({ windowMs }) => windowMs === UNIT_MS.year)
    const byDay = { hasYears, given: new Map(), distinct: new GenerationalCache<Plan>(MOST) }
    this.#plans.set(plan, byDay)
    return byDay
  }

  #read(plan: Plan, { hasYears, distinct }: PlanByDay, given: BillingDay): Plan {
    const wrong = wrongInBillingDay({ anchor: given.anchor, timeZone: given.timeZone }, hasYears)
    if (wrong) {
      const [part, expected] = wrong
      const message = `subject.${part}: got ${show(given[part])}, expected ${expected}`
      throw new TollgateError('ERR_TOLLGATE_SUBJECT', message)
    }
    if (!plan.set?.isBillable) return plan
    const id = idOfBillingDay(given, hasYears)
    const known = distinct.refresh(id)
    if (known) return known
    // A caller may change its date.
    const anchor = given.anchor instanceof Date ? new Date(given.anchor) : given.anchor
    const billed = { ...plan, set: billedSet(plan.set, { ...given, anchor }) }
    if (!this.#isCounted(billed.set)) throw cannotCount(given)
    distinct.set(id, billed)
    return billed
  }
}

/** Whether it begins like a date: a digit. */
function isDate(anchor: unknown): anchor is string {
  return typeof anchor === 'string' && anchor >= '0' && anchor < ':'
}

/** A text for all other anchors. */
function keyOf(anchor: unknown): string {
  if (isNone(anchor)) return ''
  return anchor instanceof Date ? `@${anchor.getTime()}` : `#${show(anchor)}`
}

function cannotCount({ anchor }: BillingDay): TollgateError {
  const path = anchor === undefined ? 'timeZone' : 'anchor'
  const message = `subject.${path}: this store counts no billing days: leave anchor and timeZone out, or use redisStore`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}
