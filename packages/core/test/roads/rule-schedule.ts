// Adds rules to a schedule: they are set and lifted between its steps.
import { Random } from '@tollgate/testing'
import { PLACES, PLAN_NAMES, type Act, type Ask, type Plans, type Schedule, type Step } from './schedule.js'

export type RuleAct = Extract<Act, { what: 'scale' | 'override' | 'block' }>

const FACTORS = [0.1, 0.5, 1.5, 3]
/** With leases, quotas are large. A log with a larger one is not exact any more. */
const SMALL_FACTORS = [0.1, 0.5]

/** Before a third of the steps, a rule is set or lifted. */
export function withRules(schedule: Schedule): Schedule {
  // Apart from all other chances.
  const random = new Random(schedule.seed + 2e9)
  const steps = schedule.steps.flatMap((step): Step[] => {
    if (!random.chance(0.35)) return [step]
    return [{ gapUs: 0, act: ruleActOf(random, schedule) }, step]
  })
  return { ...schedule, steps }
}

function ruleActOf(random: Random, { subjects, versions, leases }: Schedule): RuleAct {
  const who = random.pick(subjects.slice(0, 3))
  const cost = random.int(1, 3)
  const dice = random.next()
  if (dice < 0.3) {
    const plan = random.pick(PLAN_NAMES)
    // All buckets of one window are equal, because the oracle's bucket has one rate.
    const hasBucket = versions.some((plans) => plans[plan]?.some(({ kind }) => kind === 'bucket'))
    const factors = leases ? SMALL_FACTORS : FACTORS
    if (!hasBucket)
      return { what: 'scale', plan, factor: random.chance(0.3) ? undefined : random.pick(factors) }
  }
  if (dice < 0.65) {
    const place = random.pick(PLACES.filter((one) => one !== 'own'))
    return { what: 'override', ask: { place, who: [who], cost }, plan: random.pick(PLAN_NAMES) }
  }
  const others = random.some(subjects, random.int(0, 2)).filter(({ id }) => id !== who.id)
  const all = random.chance(0.5) ? [who, ...others] : [...others, who]
  const ask: Ask = { place: random.pick(PLACES), who: all, cost }
  return { what: 'block', ask, who }
}

/** The plans as they are with these factors. */
export function scaled(plans: Plans, factors: ReadonlyMap<string, number>): Plans {
  return Object.fromEntries(
    Object.entries(plans).map(([name, specs]) => {
      const factor = factors.get(name) ?? 1
      const quotaOf = (quota: number): number => Math.max(Math.round(quota * factor), 1)
      const all = specs.map((spec) =>
        spec.kind === 'flight'
          ? spec
          : {
              ...spec,
              quota: quotaOf(spec.quota),
              burst: spec.kind === 'bucket' ? spec.burst : quotaOf(spec.burst),
            },
      )
      return [name, all]
    }),
  )
}
