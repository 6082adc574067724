import type { Decision } from '../../limiter/decision/decision.js'
import { denialOf, type Denial, type DenyingLimit } from '../../limiter/decision/denial.js'
import { OWN_LIMITS } from '../../plans/own-limits.js'
import { dateInWords, inWords, LONGEST_WAIT_IN_WORDS_MS, perWindow, plural, waitInWords } from './words.js'

/**
 * The names of what is no product, so clients do not see them: the plan that the option `limit` makes, and limits that a
 * subject brings.
 */
const UNNAMED: readonly string[] = ['default', OWN_LIMITS]

/**
 * The text of a denial for people: which limit was reached, how long to wait, or what to do instead.
 *
 * @param waitMs `Retry-After` in ms, before `maxRetryAfterMs` shortens it; undefined when waiting would not help
 */
export function detailOf(decision: Decision, waitMs: number | undefined, namePlan: boolean): string {
  const { cost } = decision
  const denial = denialOf(decision)
  if (waitMs === undefined) {
    const tooSmall = denial.limits.filter((limit) => limit.waitMs === null)
    const takes = `This request takes ${plural(cost, 'unit')}`
    return `${takes}, but ${allowanceOf(tooSmall, 'unit', namePlan)}. Waiting does not help: make it smaller, or ask for a higher limit.`
  }
  const allowance = allowanceOf(denial.limits, cost > 1 ? 'unit' : 'request', namePlan)
  const when = whenOf(denial, waitMs)
  const isByCost = cost > 1 && denial.limits.some(({ windowMs }) => windowMs > 0)
  const sentence = isByCost ? `${allowance}, and this request takes ${plural(cost, 'unit')}` : allowance
  if ('after' in when) return `${capitalised(sentence)}; try again in ${when.after}.`
  return `${capitalised(sentence)}; ${cost > 1 ? 'try again' : 'the next is possible'} on ${when.on}.`
}

/** A short wait is told as a duration, a long one as a date, which is easier to remember. */
function whenOf({ limits, atMs }: Denial, waitMs: number): { after: string } | { on: string } {
  if (waitMs <= LONGEST_WAIT_IN_WORDS_MS) return { after: waitInWords(waitMs) }
  const [first, ...rest] = limits
  const longest = rest.reduce(
    (worst, limit) => ((limit.waitMs ?? 0) > (worst?.waitMs ?? 0) ? limit : worst),
    first,
  )
  return { on: dateInWords(startOf(atMs) + waitMs, longest?.timeZone ?? 'UTC') }
}

/** If two clocks differ by more than this, one of them is wrong. */
const CLOCKS_PART_MS = 60_000

/**
 * When the wait began, in ms since 1970. The store's time is used, so that a calendar window ends on the exact minute,
 * or this process's time if the two differ too much.
 */
function startOf(atMs: number | undefined): number {
  const now = Date.now()
  return atMs !== undefined && Math.abs(atMs - now) < CLOCKS_PART_MS ? atMs : now
}

/** `the pro plan allows 100 requests a minute`. Several plans or places are joined by `and`. Begins in lower case. */
function allowanceOf(limits: readonly DenyingLimit[], noun: string, namePlan: boolean): string {
  if (limits.length === 1) return clauseOf(limits, noun, namePlan)
  const clauses = new Map<string, DenyingLimit[]>()
  for (const limit of limits) {
    const key = JSON.stringify([nameOf(limit, namePlan), limit.place])
    clauses.set(key, [...(clauses.get(key) ?? []), limit])
  }
  const all = [...clauses.values()].map((same) => clauseOf(same, noun, namePlan))
  return all.length > 0 ? all.join(', and ') : 'there were too many requests'
}

function clauseOf(limits: readonly DenyingLimit[], noun: string, namePlan: boolean): string {
  const [first] = limits as readonly [DenyingLimit, ...DenyingLimit[]]
  const amounts = [...new Set(limits.map((limit) => amountOf(limit, noun)))].join(' and ')
  const place = first.place === undefined ? '' : ` for ${first.place}`
  const name = nameOf(first, namePlan)
  if (name !== undefined) return `the ${name} allows ${amounts}${place}`
  const isOne = limits.length === 1 && first.quota === 1
  return `only ${amounts} ${isOne ? 'is' : 'are'} allowed${place}`
}

function amountOf({ quota, windowMs, capacity, timeZone }: DenyingLimit, noun: string): string {
  if (windowMs === 0) return `${plural(quota, 'request')} at a time`
  const amount = `${plural(quota, noun)} ${perWindow(windowMs, timeZone)}`
  return capacity === quota ? amount : `${amount} (at most ${inWords(capacity)} at once)`
}

/** `pro plan`; undefined when clients must not see the name. */
function nameOf({ planName }: DenyingLimit, namePlan: boolean): string | undefined {
  if (!namePlan || planName === undefined || UNNAMED.includes(planName)) return undefined
  return /\bplan$/i.test(planName) ? planName : `${planName} plan`
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
