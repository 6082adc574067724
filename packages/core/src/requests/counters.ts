import { show, TollgateError } from '../base/errors.js'
import type { LimitSet } from '../plans/limit/limit-set.js'
import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'
import type { Scope } from './scope.js'

/** A counter that applies to a request. */
export interface Counter {
  readonly subject: Subject
  readonly plan: Plan
  /** The subject's own plan, which sets the failure policy. */
  readonly own: Plan
  readonly suffix: string
  /** The first part of its limits' names; undefined for the plan of the subject that pays. */
  readonly label: string | undefined
  /** As in Part. */
  readonly planName: string | undefined
  readonly place: string | undefined
}

/** Every counter of a request: one per subject, then the stacked ones, which count against the first subject. */
export function countersOf(
  subjects: readonly [Subject, ...Subject[]],
  plans: readonly Plan[],
  { suffix, stacked, plan: groupPlan, name: place }: Scope,
): [Counter, ...Counter[]] {
  const counters = subjects.map((subject, i): Counter => {
    const plan = plans[i] as Plan
    const label = i === 0 ? undefined : (subject.label ?? plan.name)
    return { subject, plan, own: plan, suffix, label, planName: groupPlan ? undefined : plan.name, place }
  })
  const [payer] = counters as [Counter, ...Counter[]]
  const onTop = stacked.map(({ plan, suffix: own }): Counter => ({
    ...payer,
    plan,
    suffix: own,
    label: plan.name,
    planName: undefined,
    place: plan.name,
  }))
  return [payer, ...counters.slice(1), ...onTop]
}

/**
 * Each key once.
 *
 * @throws {TollgateError} ERR_TOLLGATE_SUBJECT when two subjects have one key, and different plans or billing days
 */
export function distinct<
  Keyed extends Counter & { readonly key: string; readonly set: LimitSet | undefined },
>(counters: readonly Keyed[]): Keyed[] {
  return counters.filter((counter, i) => {
    const same = counters.findIndex(({ key }) => key === counter.key)
    if (same === i) return true
    const first = counters[same] as Keyed
    const isSamePlan = first.plan === counter.plan
    if (isSamePlan && first.set === counter.set) return false
    const plans = `on the plans ${show(first.plan.name)} and ${show(counter.plan.name)}`
    const given = isSamePlan ? 'with two billing days' : plans
    const expected = 'each id once; if they are two subjects, write org:7 and user:7'
    throw new TollgateError(
      'ERR_TOLLGATE_SUBJECT',
      `subjects: got one id twice, ${given}, expected ${expected}`,
    )
  })
}
