import type { MaybePromise } from '../../base/promises.js'
import { ConfigError, show } from '../../base/errors.js'
import { isOptions, nearestOf, needOptions, isWhole } from '../../base/options.js'
import type { Bounds } from './shedder.js'

/** What is refused while this process is overloaded. */
export interface ShedOptions<Req = unknown> {
  /** Names of plans, the one that is refused first in front. Plans that are not named are refused last, together. */
  readonly plans?: readonly string[] | undefined
  /** The most requests in flight in this process, whatever is measured. Default: none but what is measured. */
  readonly maxInFlight?: number | undefined
  /** How late the event loop may be, in ms, from 10 to 60 000. Later than that nothing is let in. Default: 50. */
  readonly maxDelayMs?: number | undefined
  /** Returns true for requests that are never refused for overload and not counted, such as health checks. It may be async. */
  readonly exempt?: ((req: Req) => MaybePromise<boolean>) | undefined
}

/** Names of plans, the one that is refused first in front; or options; or false for never. */
export type ShedOption<Req = unknown> = readonly string[] | ShedOptions<Req> | false

/** The option, read. */
export interface Shedding<Req> extends Bounds {
  readonly plans: readonly string[]
  readonly exempt: ((req: Req) => MaybePromise<boolean>) | undefined
}

const MAX_DELAY_MS = 50
const NAMES = ['plans', 'maxInFlight', 'maxDelayMs', 'exempt']
const SUCH = "plans in the order in which they are refused, such as ['free', 'starter']"
const MOST_LISTED = 6

/** @throws {ConfigError} when it is wrong; whether the plans exist is checked by `needKnownPlans` */
export function readShed<Req>(given: ShedOption<Req>): Shedding<Req> | undefined {
  if (given === false) return undefined
  const isList = Array.isArray(given)
  if (!isList && !isOptions(given)) {
    throw ConfigError.wrong('shed', given, `${SUCH}, or {} to refuse all plans alike`)
  }
  const options: ShedOptions<Req> = isList
    ? { plans: given as readonly string[] }
    : (given as ShedOptions<Req>)
  needOptions(options, NAMES, 'shed')
  const { plans, maxInFlight = Infinity, maxDelayMs = MAX_DELAY_MS, exempt } = options
  if (plans !== undefined) needNames(plans, pathOf(given))
  if (maxInFlight !== Infinity || options.maxInFlight !== undefined) {
    needWithin('maxInFlight', maxInFlight, 1, 1_000_000)
  }
  needWithin('maxDelayMs', maxDelayMs, 10, 60_000)
  if (exempt !== undefined && typeof exempt !== 'function') {
    throw ConfigError.wrongSecret('shed.exempt', exempt, "a function: (req) => req.path === '/health'")
  }
  return { plans: [...(plans ?? [])], maxInFlight, maxDelayMs, exempt }
}

/** @throws {ConfigError} when a plan does not exist; a plan that `setPlans` takes away later never matches */
export function needKnownPlans(given: ShedOption<never> | undefined, names: readonly string[]): void {
  const { plans = [] } = (given && readShed(given)) || {}
  plans.forEach((name, i) => {
    if (names.includes(name)) return
    const shown =
      names.slice(0, MOST_LISTED).map(show).join(', ') + (names.length > MOST_LISTED ? ', ...' : '')
    const meant = nearestOf(name, names)
    throw ConfigError.wrong(
      `${pathOf(given)}[${i}]`,
      name,
      meant === undefined ? `the name of a plan: ${shown}` : show(meant),
    )
  })
}

/** Where the user wrote the names. */
function pathOf(given: ShedOption<never> | undefined): string {
  return Array.isArray(given) ? 'shed' : 'shed.plans'
}

function needNames(given: unknown, path: string): void {
  if (!Array.isArray(given)) throw ConfigError.wrong(path, given, SUCH)
  if (given.length === 0) {
    throw ConfigError.wrong(path, given, `${SUCH}; to refuse all plans alike write shed: {}`)
  }
  Array.from(given).forEach((name: unknown, i) => {
    if (typeof name !== 'string' || name === '') {
      throw ConfigError.wrong(`${path}[${i}]`, name, "the name of a plan, such as 'free'")
    }
    const first = given.indexOf(name)
    if (first === i) return
    throw ConfigError.wrong(`${path}[${i}]`, name, `each plan once; it is at ${path}[${first}] already`)
  })
}

function needWithin(name: string, given: unknown, least: number, most: number): void {
  if (isWhole(given, least, most)) return
  throw ConfigError.wrong(`shed.${name}`, given, `a whole number from ${least} to ${most}`)
}
