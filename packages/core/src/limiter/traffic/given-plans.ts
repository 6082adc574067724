import { atCaller } from '../../base/errors.js'
import { isOptions, needOptions } from '../../base/options.js'
import { withDates } from '../../features/rules/rule.js'
import { listBegin } from '../../features/rules/rules.js'
import { needName } from '../../requests/scope.js'
import type { Board, Note, NoteTerms } from '../../stores/board.js'
import type { Store } from '../../stores/contract.js'
import { checkStore } from '../../stores/store-check.js'
import type { LimiterOptions } from '../options/limiter-options.js'
import { answered, needBoard, topicOf } from './board-access.js'

/** What a limiter's plans were made from. */
export type GivenPlans = Pick<LimiterOptions, 'plans' | 'limit' | 'defaultPlan' | 'mode'>

export const PLANS: NoteTerms = { keptMs: 7 * 86_400_000, most: 1 }
const FORMAT = 2
const MOST_CHARACTERS = 32_000
const NAMES = ['plans', 'limit', 'defaultPlan', 'mode'] as const

/** @returns a note without plans if there are too many to be kept; undefined if there are none at all */
export function toPlansNote(given: GivenPlans, hides: boolean): Note | undefined {
  if (given.plans === undefined && given.limit === undefined) return undefined
  const written = Object.fromEntries(NAMES.map((name) => [name, given[name]]))
  const text = JSON.stringify([FORMAT, hides, written])
  return { id: 'plans', text: text.length > MOST_CHARACTERS ? JSON.stringify([FORMAT, hides]) : text }
}

/** What processes of a limiter have left about it. */
interface Left {
  readonly plans?: GivenPlans | undefined
  /** Whether only hashes of ids may get into the store. */
  readonly hides?: boolean
}

/** @throws {StoreError} when the store does not answer */
export async function readLeft(board: Board, name: string): Promise<Left> {
  const [note] = await answered(board.read(topicOf('plans', name), { ...PLANS, sinceMs: 0 }))
  try {
    const [format, hides, plans] = JSON.parse(note?.text ?? '[]', withDates) as [unknown, boolean, unknown]
    // In every version, ids that are hidden are to stay so.
    return { hides, plans: format === FORMAT && isGivenPlans(plans) ? pick(plans) : undefined }
  } catch {
    return {}
  }
}

/** The known options alone: what else a note has is not taken. */
function pick(plans: GivenPlans): GivenPlans {
  const given = NAMES.filter((name) => plans[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, plans[name]]))
}

function isGivenPlans(given: unknown): given is GivenPlans {
  if (!isOptions(given)) return false
  const { plans, limit } = given as GivenPlans
  return plans === undefined ? limit !== undefined : isOptions(plans)
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
  const { plans } = await readLeft(board, listBegin(options.name))
  return plans
}

/**
 * Whether the processes of a limiter hash ids, so that their store has no plain one. For tools that name a subject: without the secret, they
 * would find nothing, and bring its id into the store. False if no process has said so.
 *
 * @throws {ConfigError} for a store without a board
 * @throws {StoreError} when the store does not answer
 */
export async function areIdsHashed(store: Store, name: string | undefined): Promise<boolean> {
  return !!(await readLeft(needBoard(store), listBegin(name))).hides
}
