import type { LimitState } from '../../limiter/decision/decision.js'
import type { Look } from '../../limiter/look.js'
import { UNNAMED } from '../answers/detail.js'
import { toSeconds } from '../headers.js'

/** Where one limit of a customer stands. */
export interface UsageOfLimit {
  /** The limit's name, such as `month`. Those of other subjects begin with their plan. */
  readonly name: string
  /** Units in a window. For requests in flight: how many at a time. */
  readonly quota: number
  /** What the numbers count. */
  readonly unit: 'units' | 'concurrent-requests'
  /** Length of the window in seconds; a month counts as 30 days, and a year as 365. 0 for requests in flight. */
  readonly windowSeconds: number
  /** Units of the quota that are in use now. */
  readonly used: number
  /** Requests of cost 1 that would pass now, units of top-ups included. */
  readonly remaining: number
  /** Set for a limit with overage: units used beyond the quota. */
  readonly over?: number
  /** Set while units of top-ups are left: how many. */
  readonly toppedUp?: number
  /** Seconds until more is left; 0 if nothing is used, and for requests in flight. */
  readonly resetSeconds: number
  /** The same as a time, such as `2026-12-01T00:00:00.000Z`; null if `resetSeconds` is 0. */
  readonly resetsAt: string | null
}

/** What a customer is told. docs/reference/usage.schema.json is its schema. */
export interface UsageReport {
  /** The name of the plan. Left out with `namePlan: false`, for limits that are no plan that you sell, and while a rule blocks the customer. */
  readonly plan?: string
  /** Empty if the plan has no limits. */
  readonly limits: readonly UsageOfLimit[]
  /** Set while an override or a scaled plan is in force: the limits above are those that hold now. `until` is null if it is not known. */
  readonly override?: { readonly until: string | null }
  /** Set while all requests are denied. `until` is null if that has no end, such as for a plan that is blocked. */
  readonly blocked?: { readonly until: string | null }
}

/** The limits by the clock that counts, so that a month ends when it does, whatever the clock of this process. */
export function reportOf({ decision, limits, atMs, override }: Look, namePlan: boolean): UsageReport {
  const { plan, reason, block } = decision
  return {
    // A subject that a rule blocks has no plan: none was looked up.
    ...(namePlan && plan !== '' && !UNNAMED.includes(plan) && { plan }),
    limits: limits.map((limit) => toUsage(limit, atMs)),
    ...(override && { override: { until: override.until?.toISOString() ?? null } }),
    ...(reason === 'blocked' && { blocked: { until: block?.until.toISOString() ?? null } }),
  }
}

function toUsage(limit: LimitState, atMs: number): UsageOfLimit {
  const { name, quota, quotaUnit: unit = 'units', windowMs, used, remaining, over, toppedUp, resetMs } = limit
  return {
    ...{ name, quota, unit, windowSeconds: windowMs / 1000, used, remaining },
    ...(over !== undefined && { over }),
    ...(toppedUp !== undefined && { toppedUp }),
    resetSeconds: toSeconds(resetMs),
    resetsAt: resetMs === 0 ? null : new Date(toSeconds(atMs + resetMs) * 1000).toISOString(),
  }
}
