import type { Plan } from '../plans/plan.js'
import type { Subject } from '../plans/subject.js'

/** A block that holds now. */
export interface BlockInForce {
  /** The blocked subject's id, or the beginning of the ids. */
  readonly of: string
  readonly until: Date
  /** In how many ms it ends. */
  readonly endsInMs: number
  readonly reason: string | undefined
}

/** An override that holds now. It is one object for as long as it holds. */
export interface OverrideInForce {
  /** When it ends, in µs since 1970. */
  readonly until: number
}

/** What rules say about a subject at this moment. Each of them can have ended a moment later, so do not keep it. */
export interface RulesInForce {
  readonly block: BlockInForce | undefined
  /** The override that applies to it; undefined: none. */
  readonly override: OverrideInForce | undefined
}

/** How the request builder learns of rules. */
export interface RuleLookup {
  /** Whether there are no rules at all, so that none need be looked up. */
  readonly isEmpty: boolean
  /** Whether the limits of some plan are multiplied. */
  readonly hasScales: boolean
  /** @returns undefined if there is no rule for it */
  find(subject: Subject): RulesInForce | undefined
  /**
   * The plan that applies in place of another: with other limits, or with all of them multiplied.
   *
   * @param isOfPlan whether these are the limits of the subject's plan, and not of a group or a stacked limit
   */
  planFor(plan: Plan, rules: RulesInForce | undefined, isOfPlan: boolean): Plan
}
