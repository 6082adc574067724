import { atCaller } from '../../base/errors.js'
import { isOptions, needOptions } from '../../base/options.js'
import { withDates } from '../../features/rules/rule.js'
import { listBegin } from '../../features/rules/rules.js'
import { needName } from '../../requests/scope.js'
import type { Note, NoteTerms } from '../../stores/board.js'
import type { Store } from '../../stores/contract.js'
import { checkStore } from '../../stores/store-check.js'
import type { LimiterOptions } from '../options/limiter-options.js'
import { answered, needBoard, topicOf } from './board-access.js'

/** What a limiter's plans were made from. */
export type GivenPlans = Pick<LimiterOptions, 'plans' | 'limit' | 'defaultPlan' | 'mode'>

export const PLANS: NoteTerms = { keptMs: 7 * 86_400_000, most: 1 }
const FORMAT = 1
const MOST_CHARACTERS = 32_000
const NAMES = ['plans', 'limit', 'defaultPlan', 'mode'] as const

/** Undefined if there are none, or too many to be kept. */
export function toPlansNote(given: GivenPlans): Note | undefined {
  const written = Object.fromEntries(NAMES.map((name) => [name, given[name]]))
  const text = JSON.stringify([FORMAT, written])
  const isNone = given.plans === undefined && given.limit === undefined
  return isNone || text.length > MOST_CHARACTERS ? undefined : { id: 'plans', text }
}

/**
 * The plans that a limiter of this name was made with last, in any process of the last seven days: options for `createLimiter`. For scripts and
 * tools that do not have them. `planOf` and other functions are not among them.
 *
 * @returns undefined if no process has left its plans: none had a request, or each has `traffic: false`
 * @throws {ConfigError} for an option, or for a store without a board
 * @throws {StoreError} when the store does not answer
 * @example
 * const plans = await readPlans(store)
 * if (plans) console.log(Object.keys(plans.plans ?? {}))
 */
export async function readPlans(
  store: Store,
  options: { readonly name?: string | undefined } = {},
): Promise<GivenPlans | undefined> {
  const board = atCaller(readPlans, () => {
    checkStore(store, 'store')
    needOptions(options, { names: ['name'], example: "{ name: 'api' }" })
    if (options.name !== undefined) needName('name', options.name)
    return needBoard(store)
  })
  const topic = topicOf('plans', listBegin(options.name))
  const [note] = await answered(board.read(topic, { ...PLANS, sinceMs: 0 }))
  try {
    const [format, given] = JSON.parse(note?.text ?? '[]', withDates) as [unknown, GivenPlans]
    return format === FORMAT && isOptions(given) ? given : undefined
  } catch {
    return undefined
  }
}
