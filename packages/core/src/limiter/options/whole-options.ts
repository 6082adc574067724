import { ConfigError, show } from '../../base/errors.js'
import { attempt, pathIn, showKind } from '../../base/show.js'
import { isRedisClient } from '../../stores/store-check.js'

/** The options in the examples of how to make a limiter. */
const EXAMPLE = "{ limit: '100/min' }"
/** How a limit begins, or all of a plan without limits. */
const LIMIT = /^\s*\d[\d_]*\s*(?:\/|per\s|concurrent)|^(?:unlimited|blocked)$/i

/**
 * The error for a store, a Redis client, a limit or the like in place of the options it belongs into. Undefined for all else.
 *
 * @param example how a limiter is made: `app.use(rateLimit({ limit: '100/min' }))`
 */
export function errorOfWhole(given: unknown, example: string): ConfigError | undefined {
  const [what, options] = attempt(() => meantBy(given, example.includes('rateLimit')), undefined) ?? []
  if (what === undefined || options === undefined) return undefined
  const right = example.replace(EXAMPLE, () => options)
  return new ConfigError('options', `got ${what}, expected an object of options: ${right}`)
}

type Meant = readonly [what: string, options: string]

/** @param isOfHttp whether a limiter can be among the options */
function meantBy(given: unknown, isOfHttp: boolean): Meant | undefined {
  if (typeof given === 'string' && given.includes('//')) {
    return [showKind(given), "{ limit: '100/min', store: redisStore(new Redis(url)) }"]
  }
  if (typeof given === 'string' && LIMIT.test(given)) return [show(given), `{ limit: ${show(given)} }`]
  if (typeof given === 'number' && given > 0) return [show(given), `{ limit: '${given}/min' }`]
  if (isLimits(given)) return [show(given), `{ limit: [${given.map(show).join(', ')}] }`]
  if (isRedisClient(given)) return ['a Redis client', "{ limit: '100/min', store: redisStore(client) }"]
  const { consume, scope, refund, limiter } = (given ?? {}) as Readonly<Record<string, unknown>>
  if (isOfHttp && typeof given === 'function' && limiter !== undefined) {
    return ['a middleware', '{ limiter: thatMiddleware.limiter }']
  }
  if (typeof consume !== 'function' || typeof refund !== 'function') return undefined
  if (typeof scope !== 'function') return ['a store', "{ limit: '100/min', store }"]
  return isOfHttp ? ['a limiter', '{ limiter }'] : undefined
}

function isLimits(given: unknown): given is readonly string[] {
  return (
    Array.isArray(given) &&
    given.length > 0 &&
    given.every((one) => typeof one === 'string' && LIMIT.test(one))
  )
}

/** At most this many plans are shown. */
const MOST_SHOWN = 3

/** The error for plans in place of the options: `{ free: '100/min', pro: '1000/min' }`. */
export function errorOfPlans(given: object, unknown: readonly string[]): ConfigError | undefined {
  const plans = Object.entries(given) as [name: string, plan: unknown][]
  const isPlan = (plan: unknown): boolean => isLimits([plan].flat())
  if (plans.length > unknown.length || !plans.every(([, plan]) => isPlan(plan))) return undefined
  const shown = plans
    .slice(0, MOST_SHOWN)
    .map(([name, plan]) => `${pathIn('', name)}: ${Array.isArray(plan) ? '[...]' : show(plan)}`)
  const all = plans.length > MOST_SHOWN ? [...shown, '...'] : shown
  return new ConfigError(unknown[0] ?? '', `a plan goes into plans: write plans: { ${all.join(', ')} }`)
}
