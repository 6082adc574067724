import type { LimitAnswer, PlanAnswer, StateAnswer, SubjectAnswer } from '../../src/answers.ts'
import { wholeOf } from '../views/limits.tsx'
import { durationText, limitText, listText, numberText, rateText, shortText } from '../words.ts'

function isConcurrent({ quotaUnit }: LimitAnswer): boolean {
  return quotaUnit === 'concurrent-requests'
}

/** Such as `1,200 are used, so 4,800 are left`. */
function leftSentence(used: number, quota: number): string {
  const verb = used === 1 ? 'is' : 'are'
  const left = quota - used
  if (left <= 0) return `${numberText(used)} ${verb} used, so none is left`
  return `${numberText(used)} ${verb} used, so ${numberText(left)} ${left === 1 ? 'is' : 'are'} left`
}

function becomesSentence(limit: StateAnswer, base: number, quota: number): string {
  const from = `Its ${limitText({ ...limit, quota: base })} ${base === 1 ? 'becomes' : 'become'} ${numberText(quota)}`
  const burst = wholeOf(limit)
  if (burst <= limit.quota) return `${from}. ${leftSentence(limit.used, quota)}.`
  const scaledBurst = scaled(burst, quota / limit.quota)
  return `${from}, with a burst of ${numberText(scaledBurst)}. ${leftSentence(limit.used, scaledBurst)}.`
}

/** What the plan gives, if an override is in place already. */
function baseOf(limit: StateAnswer, plan: PlanAnswer | undefined): number {
  return plan?.limits.find(({ name }) => name === limit.name)?.quota ?? limit.quota
}

export function factorText(subject: SubjectAnswer, plan: PlanAnswer | undefined, factor: number): string {
  const counted = subject.limits.filter((limit) => !isConcurrent(limit))
  const sentences = counted.map((limit) => {
    const base = subject.isOverridden ? baseOf(limit, plan) : limit.quota
    return becomesSentence(limit, base, scaled(base, factor))
  })
  if (counted.length < subject.limits.length)
    sentences.push('Its limits of requests in flight stay as they are.')
  return sentences.length > 0 ? sentences.join(' ') : 'It has no limits now, so nothing is multiplied.'
}

/** A limit never falls below one unit. */
export function scaled(quota: number, factor: number): number {
  return Math.max(Math.round(quota * factor), 1)
}

export function planText(subject: SubjectAnswer, plan: PlanAnswer): string {
  if (plan.limits.length === 0) return `It gets the limits of ${shortText(plan.name)}.`
  const parts = plan.limits.map((limit) => {
    const same = subject.limits.find(
      ({ name, windowMs }) => name === limit.name && windowMs === limit.windowMs,
    )
    if (!same) return limitText(limit)
    return `${limitText(limit)} (${leftSentence(same.used, limit.quota)})`
  })
  return `It gets the limits of ${shortText(plan.name)}: ${listText(parts)}.`
}

const LENGTHS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const WRITTEN = /^(\d+)\/(s|sec|second|m|min|minute|h|hour|d|day)$/

export function ownLimitsText(subject: SubjectAnswer, limits: readonly string[]): string {
  if (limits.length === 0) return 'Write at least one limit, such as 5000/min.'
  const sentences = limits.map((written) => {
    const [, count = '', unit = ''] = WRITTEN.exec(written) ?? []
    const windowMs = LENGTHS[unit.charAt(0)]
    const same = subject.limits.find((limit) => limit.windowMs === windowMs && !isConcurrent(limit))
    if (!same || windowMs === undefined) return `It gets the limit ${written}, and begins it afresh.`
    // It has no burst.
    return becomesSentence({ ...same, remaining: 0 }, same.quota, Number(count))
  })
  return sentences.join(' ')
}

export function blockText({ traffic }: SubjectAnswer, until: string): string {
  if (!traffic) return `It sent nothing in the last minute. Whatever it sends is refused ${until}.`
  const perSecond = traffic.requests / 60
  const rate =
    perSecond >= 1
      ? `${rateText(perSecond)} requests a second`
      : `${numberText(traffic.requests)} request${traffic.requests === 1 ? '' : 's'} a minute`
  return `Its ${rate} are refused ${until}.`
}

export function topUpText(limit: StateAnswer | undefined, units: number, ends: string): string {
  if (!limit) return 'It has no limit that can be topped up.'
  if (!(units > 0)) return 'Write how many units it gets.'
  const left = Math.max(limit.remaining, 0)
  const now = `It has ${numberText(left)} left of ${shortText(limit.name)}, and then ${numberText(left + units)}.`
  const over = limit.over ? ` The ${numberText(limit.over)} over its quota stay so.` : ''
  return `${now} The units on top are used after the quota, ${ends}.${over}`
}

export function renewText(limit: StateAnswer | undefined): string {
  if (!limit) return 'It has no limit that can be renewed.'
  const used = `${numberText(limit.used)} used of ${shortText(limit.name)} ${limit.used === 1 ? 'is' : 'are'} forgotten`
  const over = limit.over ? `, and ${numberText(limit.over)} over the quota` : ''
  const left = wholeOf(limit) + (limit.toppedUp ?? 0)
  return `${used}${over}: ${numberText(left)} are left at once, instead of ${numberText(Math.max(limit.remaining, 0))}.`
}

export function resetText({ limits, denials }: SubjectAnswer): string {
  const used = limits.filter((limit) => limit.used > 0 && !isConcurrent(limit))
  const parts = used.map((limit) => `${numberText(limit.used)} used of ${shortText(limit.name)}`)
  const counts =
    parts.length > 0 ? `${listText(parts)} are forgotten.` : 'It has used nothing, so little changes.'
  const extra = 'All its limits begin afresh, and its top-ups go, too.'
  return denials.length > 0 ? `${counts} ${extra} The list of its refusals stays.` : `${counts} ${extra}`
}

export function forgetText({ plan, planFrom }: SubjectAnswer): string {
  const now =
    planFrom === 'default' ? `It counts as ${shortText(plan)}` : `It has the plan ${shortText(plan)}`
  return `${now} now. All processes ask the application again at its next request. Its counts stay.`
}

export function scaleText({ name, limits }: PlanAnswer, factor: number, until: string): string {
  const counted = limits.filter((limit) => !isConcurrent(limit))
  const shown = shortText(name)
  if (counted.length === 0)
    return `All limits of ${shown} are multiplied ${until}, but those of requests in flight.`
  const parts = counted.map((limit) => {
    return `${limitText(limit)} becomes ${numberText(scaled(limit.quota, factor))}`
  })
  return `${shown}: ${listText(parts)} ${until}.`
}

export function windowEndText(limit: StateAnswer | undefined): string {
  return limit && limit.resetMs > 0
    ? `until its window ends (${durationText(limit.resetMs)})`
    : 'until its window ends'
}
