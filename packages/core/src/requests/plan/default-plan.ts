import { ConfigError, show } from '../../base/errors.js'
import type { PlanOptions, Plans } from '../../plans/plans.js'

/**
 * The chosen default plan, if the new plans still contain it. If not, this throws: no other plan becomes the default
 * unless the user says so.
 *
 * @param kept the default plan that was chosen before
 * @throws {ConfigError}
 */
export function keptDefault(kept: string | undefined, { plans }: PlanOptions): string | undefined {
  const [first] = Object.keys(plans ?? {})
  if (kept === undefined || first === undefined || Object.hasOwn(plans ?? {}, kept)) return kept
  const problem = `the default plan ${show(kept)} is not among the plans: keep it, or choose another`
  throw new ConfigError('plans', `${problem}: setPlans(plans, { defaultPlan: ${show(first)} })`)
}

export const SUBJECTS_NOT_FOUND = 'subjects that planOf does not find'

/**
 * Refuses plans without a clear default.
 *
 * @param given the default plan that was chosen
 * @param whose who gets it, for the error
 * @throws {ConfigError}
 */
export function needDefault({ hasDefault }: Plans, given: string | undefined, whose: string): void {
  if (hasDefault) return
  throw ConfigError.wrong('defaultPlan', given, `the name of a plan, such as 'free', for ${whose}`)
}
