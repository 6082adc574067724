import { show } from '../../base/errors.js'
import { nearestOf } from '../../base/options.js'
import type { Warn } from '../../base/warnings.js'
import type { Subject } from '../../plans/subject.js'

/** At most this many warnings, so that clients who can choose a plan's name cannot fill the log. */
const MOST_NAMES = 20

/** Warns of plans that do not exist, once per name. A tenant whose plan is misspelt gets less than it pays for. */
export class PlanWarning {
  readonly #warn: Warn
  readonly #hidesIds: boolean
  readonly #told = new Set<string>()

  /** @param hidesIds whether ids are not to be printed */
  constructor(warn: Warn, hidesIds: boolean) {
    this.#warn = warn
    this.#hidesIds = hidesIds
  }

  /**
   * @param used  the plan that is applied instead
   * @param plans the names of all plans
   */
  tell({ id, plan }: Subject, used: string, plans: Iterable<string>): void {
    if (this.#told.size >= MOST_NAMES) return
    const name = plan === undefined ? 'no plan' : `the plan ${show(plan)}`
    if (this.#told.has(name)) return
    this.#told.add(name)
    const who = this.#hidesIds ? 'A subject' : `The subject ${show(String(id))}`
    const held = `it is held to ${show(used)}`
    if (plan === undefined) {
      this.#warn(
        'TOLLGATE_PLAN',
        `${who} has no plan, and there is no defaultPlan; ${held}. Set defaultPlan.`,
      )
      return
    }
    const names = [...plans]
    const meant = nearestOf(plan, names)
    const advice =
      meant === undefined ? `Plans are: ${names.slice(0, 10).join(', ')}` : `Did you mean ${show(meant)}?`
    this.#warn('TOLLGATE_PLAN', `${who} has ${name}, which is not in plans; ${held}. ${advice}`)
  }
}
