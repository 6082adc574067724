import { findSeenPlan } from '@tollgate/admin'
import type { Inspection, Subject } from '@tollgate/core'
import type { Configuration } from './configuration.js'
import type { Session } from './session.js'

/**
 * Who said which plan a customer has: the operator, `planOf` in the plans file, a process of the application, its requests of the last
 * minute, its last denial within a day, or what it has used. `default`: nobody, so it is the default plan.
 */
export type PlanFrom = 'operator' | 'plans' | 'application' | 'requests' | 'denial' | 'counts' | 'default'

/** What is known of a customer's plan. */
export interface Found {
  readonly planFrom: PlanFrom
  /** Undefined where the plans themselves say it. */
  readonly plan?: string | undefined
  /** What a process of the application says. */
  readonly told?: Inspection | undefined
}

/** Whether the plans themselves say which one a customer has. */
export function saysPlan({ plans }: Configuration): boolean {
  if (!plans) return false
  const { plans: all = {}, planOf } = plans.options
  return planOf !== undefined || Object.keys(all).length < 2
}

/** The plan of a customer. Who knows best is asked first. */
export async function findPlan(session: Session, subject: Subject): Promise<Found> {
  if (session.plans && subject.plan !== undefined) return { planFrom: 'operator', plan: subject.plan }
  if (saysPlan(session)) return { planFrom: 'plans' }
  const told = await askApplication(session, subject)
  if (told && !told.isDefaultPlan)
    return { planFrom: subject.plan === undefined ? 'application' : 'operator', plan: told.plan, told }
  const seen = await planOfRequests(session, subject)
  if (!seen) return { planFrom: 'default', plan: told?.plan, told }
  return seen.plan === told?.plan ? { ...seen, told } : seen
}

/** Where a customer stands, as a process of the application says; undefined if none can be asked, or none answers. */
async function askApplication(
  { limiter, options }: Session,
  subject: Subject,
): Promise<Inspection | undefined> {
  // The question would have the id.
  if (options.hashIds !== undefined) return undefined
  try {
    return await limiter.inspect(subject)
  } catch (error) {
    const { code, reason } = error as { readonly [Name in 'code' | 'reason']?: unknown }
    if (code === 'ERR_TOLLGATE_STORE_TIMEOUT' || reason === 'protocol') return undefined
    return ifNoConfig(error)
  }
}

/** The plan by what its requests have left. */
async function planOfRequests({ limiter, plans }: Session, subject: Subject): Promise<Found | undefined> {
  const { busiest } = await limiter.traffic({ of: subject, most: 1 })
  const { denials } = await limiter.denialLog({ of: subject })
  const names = Object.keys(plans?.options.plans ?? {})
  return findSeenPlan(limiter, subject, { traffic: busiest[0], denials, plans: names })
}

/** For what core refuses: `usageOf` for limits whose units come back one by one, and `inspect` for an id that is too long. */
export function ifNoConfig(error: unknown): undefined {
  if ((error as { readonly code?: unknown }).code === 'ERR_TOLLGATE_CONFIG') return undefined
  throw error
}

/** An id that ends with `*` is an id here, and no beginning of ids. */
export function asSubject(given: Subject | string): Subject {
  return typeof given === 'string' ? { id: given } : given
}
