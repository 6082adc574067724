import { denialOf, type Denial, type DenyingLimit } from '../limiter/denial.js'
import type { Decision } from '../limiter/decision.js'
import { dateInWords, LONGEST_WAIT_IN_WORDS_MS, perWindow, plural, waitInWords } from './words.js'

/** The name that `limit:` gives its plan. Nobody sold it, so clients are not told of it. */
const UNNAMED_PLAN = 'default'

/**
 * What people read of a denial by a limit: which limit, how long to wait, or what else to do.
 *
 * @param waitMs as `Retry-After` says it, before it was cut; undefined when waiting would not help
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
  const sentence = cost > 1 ? `${allowance}, and this request takes ${plural(cost, 'unit')}` : allowance
  if ('after' in when) return `${capitalised(sentence)}; try again in ${when.after}.`
  return `${capitalised(sentence)}; ${cost > 1 ? 'try again' : 'the next is possible'} on ${when.on}.`
}

/** Soon as a length of time; later as a date, which is easier to remember. */
function whenOf({ limits, atMs }: Denial, waitMs: number): { after: string } | { on: string } {
  if (waitMs <= LONGEST_WAIT_IN_WORDS_MS) return { after: waitInWords(waitMs) }
  const [first, ...rest] = limits
  const longest = rest.reduce(
    (worst, limit) => ((limit.waitMs ?? 0) > (worst?.waitMs ?? 0) ? limit : worst),
    first,
  )
  return { on: dateInWords(startOf(atMs) + waitMs, longest?.timeZone ?? 'UTC') }
}

/** Two clocks that part by more than this are not of the same time. */
const CLOCKS_PART_MS = 60_000

/**
 * When the wait began. By the clock of the store, so that a window on the calendar ends on the minute; by this
 * process's clock where that one is set to another time.
 */
function startOf(atMs: number | undefined): number {
  const now = Date.now()
  return atMs !== undefined && Math.abs(atMs - now) < CLOCKS_PART_MS ? atMs : now
}

/** `the pro plan allows 100 requests a minute`, also of several plans; in lower case. */
function allowanceOf(limits: readonly DenyingLimit[], noun: string, namePlan: boolean): string {
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
  const amount = `${plural(quota, noun)} ${perWindow(windowMs, timeZone)}`
  return capacity === quota ? amount : `${amount} (at most ${capacity.toLocaleString('en')} at once)`
}

/** `pro plan`; undefined where clients are not told. */
function nameOf({ planName }: DenyingLimit, namePlan: boolean): string | undefined {
  if (!namePlan || planName === undefined || planName === UNNAMED_PLAN) return undefined
  return /\bplan$/i.test(planName) ? planName : `${planName} plan`
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
