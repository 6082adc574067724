import type { Limiter, TrafficView } from '@tollgate/core'
import { internalsOf } from '@tollgate/core/adapter'
import type { PlanAnswer, PlansAnswer, RuleAnswer } from '../answers.js'

/** The plans of a limiter, as far as they are known. */
export function plansOf(limiter: Limiter): readonly PlanAnswer[] {
  return internalsOf(limiter).plans() ?? []
}

/**
 * @param rules all that hold
 * @param view  what was seen lately; undefined if the store did not answer
 */
export function plansReport(
  limiter: Limiter,
  rules: readonly RuleAnswer[],
  view: TrafficView | undefined,
): PlansAnswer {
  const { coversMs = 0, processes = 0, busiest = [], nearest = [] } = view ?? {}
  const known = plansOf(limiter)
  // Limits that a customer has for itself belong to no plan, but are reported with a name.
  const names = new Set([...busiest, ...nearest].map(({ plan }) => plan).filter((plan) => plan !== ''))
  for (const { name } of known) names.delete(name)
  const others = [...names].map((name) => ({ name, isDefault: false, limits: [] }))
  const plans = [...known, ...others].map((plan) => {
    const isOfPlan = (one: { readonly plan: string }): boolean => one.plan === plan.name
    const scale = rules.find(({ kind, of }) => kind === 'scale' && of === plan.name)
    return {
      ...plan,
      ...{ busiest: busiest.filter(isOfPlan), nearest: nearest.filter(isOfPlan) },
      ...(scale && { scale }),
    }
  })
  return { coversMs, processes, plans }
}
