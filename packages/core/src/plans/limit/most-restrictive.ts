import type { Plan } from '../plan.js'

/**
 * The plan with the lowest sustained rate; of equal ones, the one with the fewest requests in flight. A plan without a
 * rate lets any number pass if they are short, so it is less restrictive than any that has one.
 */
export function mostRestrictive(plans: readonly Plan[]): Plan {
  let [least] = plans as [Plan, ...Plan[]]
  for (const plan of plans) if (isTighter(plan, least)) least = plan
  return least
}

function isTighter(plan: Plan, other: Plan): boolean {
  const rate = sustained(plan)
  const its = sustained(other)
  return rate === its ? atATime(plan) < atATime(other) : rate < its
}

function sustained({ limits }: Plan): number {
  return Math.min(...limits.map(({ quota, windowMs }) => (windowMs > 0 ? quota / windowMs : Infinity)))
}

function atATime({ limits }: Plan): number {
  return Math.min(...limits.map(({ quota, windowMs }) => (windowMs > 0 ? Infinity : quota)))
}
