import { GenerationalCache } from '../../base/caches.js'
import { UNIT_MS } from '../../base/duration.js'
import { show, TollgateError } from '../../base/errors.js'
import { billedSet, idOfBillingDay, wrongInBillingDay, type BillingDay } from '../../plans/billed-set.js'
import type { LimitSet } from '../../plans/limit/limit-set.js'
import type { Plan } from '../../plans/plan.js'
import type { Subject } from '../../plans/subject.js'
import { isNone } from '../subject/subject.js'

/** At least this many different days are remembered of each plan, and at most twice as many. */
const MOST = 10_000
/** The same for the dates of time zones. There are fewer, but each has many spellings. */
const MOST_ZONES = 1000

/** The limits of a plan for subjects with a billing day; null if it has none. */
type Billed = LimitSet | null

/** The limits of a plan, by what its subjects say of their day. */
interface LimitsByDay {
  readonly plan: Plan
  readonly hasYears: boolean
  /** By time zone: those of dates, by month, if the plan has years, and day. */
  readonly zones: GenerationalCache<(Billed | undefined)[][]>
  /** Those of all other anchors, by their time zone and text. */
  readonly others: GenerationalCache<Billed>
  /** By the id of the day: days of equal windows share their limits. */
  readonly distinct: GenerationalCache<LimitSet>
}

/** The limits of subjects with a billing day. Days of equal windows share them, so that 10 000 subjects need no set each. */
export class BillingDays {
  readonly #isCounted: (set: LimitSet) => boolean
  readonly #plans = new WeakMap<Plan, LimitsByDay>()
  /** Those of the last request, since most subjects are on few plans. */
  #last: LimitsByDay | undefined

  /** @param isCounted whether the store can count these limits */
  constructor(isCounted: (set: LimitSet) => boolean) {
    this.#isCounted = isCounted
  }

  /** @throws {TollgateError} ERR_TOLLGATE_SUBJECT when the subject's anchor or time zone is wrong, or the store cannot count by it */
  setFor(plan: Plan, subject: Subject): LimitSet | undefined {
    const { anchor, timeZone } = subject
    const byDay = this.#last?.plan === plan ? this.#last : this.#enter(plan)
    const zone = isNone(timeZone) ? '' : timeZone || 'empty'
    const date = typeof anchor === 'string' ? numberOf(anchor, byDay.hasYears) : 0
    if (date === 0) return this.#setForOther(byDay, subject, zone)
    const dates = byDay.zones.refresh(zone) ?? []
    const known = dates[date >> 5]?.[date & 31]
    if (known !== undefined) return known ?? undefined
    const billed = this.#read(byDay, subject)
    ;(dates[date >> 5] ??= [])[date & 31] = billed
    byDay.zones.set(zone, dates)
    return billed ?? undefined
  }

  #setForOther(byDay: LimitsByDay, subject: Subject, zone: string): LimitSet | undefined {
    const key = `${zone} ${keyOf(subject.anchor)}`
    const known = byDay.others.refresh(key)
    if (known !== undefined) return known ?? undefined
    const billed = this.#read(byDay, subject)
    byDay.others.set(key, billed)
    return billed ?? undefined
  }

  #enter(plan: Plan): LimitsByDay {
    let byDay = this.#plans.get(plan)
    if (!byDay) {
      const hasYears = plan.limits.some(({ windowMs }) => windowMs === UNIT_MS.year)
      const zones = new GenerationalCache<(Billed | undefined)[][]>(MOST_ZONES)
      byDay = {
        plan,
        hasYears,
        zones,
        others: new GenerationalCache(MOST),
        distinct: new GenerationalCache(MOST),
      }
      this.#plans.set(plan, byDay)
    }
    return (this.#last = byDay)
  }

  #read({ plan: { set }, hasYears, distinct }: LimitsByDay, { anchor: day, timeZone }: Subject): Billed {
    const given = { anchor: day ?? undefined, timeZone: timeZone ?? undefined }
    const wrong = wrongInBillingDay(given, hasYears)
    if (wrong) {
      const [part, expected] = wrong
      const message = `subject.${part}: got ${show(given[part])}, expected ${expected}`
      throw new TollgateError('ERR_TOLLGATE_SUBJECT', message)
    }
    if (!set?.isBillable) return set ?? null
    const id = idOfBillingDay(given, hasYears)
    const known = distinct.refresh(id)
    if (known) return known
    // A caller may change its date.
    const anchor = given.anchor instanceof Date ? new Date(given.anchor) : given.anchor
    const billed = billedSet(set, { ...given, anchor })
    if (!this.#isCounted(billed)) throw cannotCount(given)
    distinct.set(id, billed)
    return billed
  }
}

const [ZERO, DASH] = [48, 45]

/**
 * The number of a date such as `2026-01-31`, which is equal for dates of equal windows. 0 for any other text, and for February 29. To look
 * texts up takes several times as long.
 */
function numberOf(text: string, hasYears: boolean): number {
  if (text.length !== 10) return 0
  let digits = 0
  for (let i = 0; i < 10; i += 1) {
    const code = text.charCodeAt(i)
    if (i === 4 || i === 7) {
      if (code !== DASH) return 0
    } else if (code >= ZERO && code < ZERO + 10) digits = digits * 10 + code - ZERO
    else return 0
  }
  const day = digits % 100
  const month = ((digits / 100) | 0) % 100
  // From August on, the even months are the long ones.
  const last = month === 2 ? 28 : 30 + ((month + (month >> 3)) % 2)
  if (day < 1 || day > last || month < 1 || month > 12) return 0
  return hasYears ? month * 32 + day : day
}

/** A text for all other anchors. */
function keyOf(anchor: unknown): string {
  if (isNone(anchor)) return ''
  // A date, most likely with a time.
  if (typeof anchor === 'string' && anchor >= '0' && anchor < ':') return anchor
  return anchor instanceof Date ? `@${anchor.getTime()}` : `#${show(anchor)}`
}

function cannotCount({ anchor }: BillingDay): TollgateError {
  const path = anchor === undefined ? 'timeZone' : 'anchor'
  const message = `subject.${path}: this store counts no billing days: leave anchor and timeZone out, or use redisStore`
  return new TollgateError('ERR_TOLLGATE_SUBJECT', message)
}
