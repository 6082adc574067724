import { LONGEST_WINDOW_MS, notationOf, readDuration } from '../../base/duration.js'
import { ConfigError, pageOf, show } from '../../base/errors.js'
import { isUnits, isOptions, isWhole, nearestOf } from '../../base/options.js'
import { attempt, pathIn, showKind } from '../../base/show.js'
import { isRedisClient } from '../../stores/store-check.js'
import { remedyOf } from './remedies.js'

export { remedyOf, findReplacement } from './remedies.js'

/** Another rate limiter package, and how its options describe a limit. */
interface OtherPackage {
  readonly name: string
  readonly page: string
  /** Options by which the package is recognised. */
  readonly signs: readonly string[]
  /** The options that Tollgate's `limit` replaces. */
  readonly ofLimit: readonly string[]
  /** The length of the window in ms; undefined if it cannot be read from the options. */
  readonly windowMs: (given: Given) => number | undefined
}

type Given = Readonly<Record<string, unknown>>

const PACKAGES: readonly OtherPackage[] = [
  {
    name: 'express-rate-limit',
    page: pageOf('migrate-from/express-rate-limit.md'),
    signs: ['windowMs'],
    ofLimit: ['windowMs', 'max', 'limit'],
    windowMs: ({ windowMs }) => readDuration(windowMs)?.ms,
  },
  {
    name: '@fastify/rate-limit',
    page: pageOf('migrate-from/fastify-rate-limit.md'),
    signs: ['timeWindow'],
    ofLimit: ['timeWindow', 'max'],
    windowMs: ({ timeWindow }) => readDuration(timeWindow)?.ms,
  },
  {
    name: 'rate-limiter-flexible',
    page: pageOf('migrate-from/rate-limiter-flexible.md'),
    signs: ['points', 'blockDuration', 'storeClient', 'insuranceLimiter', 'execEvenly'],
    ofLimit: ['points', 'duration', 'blockDuration'],
    windowMs: ({ duration }) => (typeof duration === 'number' ? duration * 1000 : undefined),
  },
  {
    name: 'koa-ratelimit',
    page: pageOf('migrate-from/koa-ratelimit.md'),
    signs: ['duration', 'driver', 'db'],
    ofLimit: ['duration', 'max'],
    windowMs: ({ duration }) => readDuration(duration)?.ms,
  },
  {
    name: 'another package',
    page: pageOf('README.md#moving-from'),
    signs: ['max'],
    ofLimit: ['max'],
    windowMs: () => 60_000,
  },
]

/** One error for options that belong together: those of another package, the parts of a limit, or plans. */
export function errorOfKnown(given: object, unknown: readonly string[]): ConfigError | undefined {
  return findOtherPackage(given, unknown) ?? findParts(given, unknown) ?? findPlans(given, unknown)
}

/** The error for options of another package. It shows the same limit in Tollgate's notation. */
function findOtherPackage(given: object, unknown: readonly string[]): ConfigError | undefined {
  const other = PACKAGES.find(({ signs }) => signs.some((sign) => unknown.includes(sign)))
  if (!other) return undefined
  const [sign = ''] = unknown.filter((name) => other.signs.includes(name))
  const replaced = other.ofLimit.filter((name) => Object.hasOwn(given, name))
  const limit =
    replaced.length === 0
      ? []
      : [`${suggestLimit(other, given as Given)} in place of ${replaced.join(' and ')}`]
  const others = replacements(unknown.filter((name) => !replaced.includes(name)))
  const remedy =
    [...limit, ...others.slice(0, MOST_REMEDIES)].join(', ') || (remedyOf(sign) ?? 'it has no equivalent')
  return new ConfigError(sign, `an option of ${other.name}; ${remedy} (all others: ${other.page})`)
}

/** Besides the limit. */
const MOST_REMEDIES = 3

/** `store: redisStore(client) in place of driver and db`, for the options that one of Tollgate's replaces. */
function replacements(names: readonly string[]): string[] {
  const namesOf = new Map<string, string[]>()
  for (const name of names) {
    const [, option] = /^write (.*)/.exec(remedyOf(name) ?? '') ?? []
    if (option !== undefined) namesOf.set(option, [...(namesOf.get(option) ?? []), name])
  }
  return [...namesOf].map(([option, given]) => `${option} in place of ${given.join(' and ')}`)
}

/** `write limit: '100/15min'`, with the user's own numbers if they can be read; otherwise an example. */
function suggestLimit({ windowMs }: OtherPackage, given: Given): string {
  const quota = [given.limit, given.max, given.points].find(isUnits)
  const ms = windowMs(given)
  const isLength = ms !== undefined && isWhole(ms, 1, LONGEST_WINDOW_MS)
  const limit = `limit: '${quota ?? 100}/${isLength ? notationOf(ms) : 'min'}'`
  return quota === undefined || !isLength ? `write a limit such as ${limit}` : `write ${limit}`
}

/** Parts of a limit that are most often written beside it by mistake. Not `name`, which is another option there. */
const PARTS = ['quota', 'window', 'burst', 'algorithm', 'timeZone', 'anchor', 'precision']

/** The error for parts of a limit that are given as options. It shows the limit that they make, with the given values. */
function findParts(given: object, unknown: readonly string[]): ConfigError | undefined {
  const parts = PARTS.filter((part) => unknown.includes(part))
  const [first] = parts
  if (first === undefined) return undefined
  const named = parts.map((part) => `\`${part}\``).join(' and ')
  const what = parts.length === 1 ? 'it is a part' : `${named} are parts`
  return new ConfigError(first, `${what} of a limit: write ${limitWithParts(given as Given, parts)}`)
}

function limitWithParts(given: Given, parts: readonly string[]): string {
  const { limit, burst } = given
  if (typeof limit === 'string' && parts.length === 1 && typeof burst === 'number') {
    return `limit: ${show(`${limit} burst ${burst}`)}`
  }
  const values: Given = {
    quota: 100,
    window: 'min',
    ...readOuterLimit(limit),
    ...Object.fromEntries(parts.map((part) => [part, given[part]])),
  }
  const text = Object.entries(values).map(([name, value]) => `${name}: ${showValue(value)}`)
  const long = `{ ${text.join(', ')} }`
  return isOptions(given.plans) ? `it in the plan, such as free: ${long}` : `limit: ${long}`
}

/** The parts that the limit itself gives, as far as it can be read. */
function readOuterLimit(limit: unknown): object {
  if (isOptions(limit)) return limit
  const [, quota, window] = (typeof limit === 'string' && /^(\d{1,13})\/([\w ]{1,16})$/.exec(limit)) || []
  return quota === undefined ? {} : { quota: Number(quota), window }
}

/** As you would type it, if it is a string or a number; otherwise `...`. */
function showValue(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? show(value) : '...'
}

/** The options in the examples of how to make a limiter. */
const EXAMPLE = "{ limit: '100/min' }"
/** The beginning of a limit, or a whole plan without limits. */
const LIMIT = /^\s*\d[\d_]*\s*(?:\/|per\s|concurrent)|^(?:unlimited|blocked)$/i

/**
 * The error for a value such as a store, a Redis client or a limit, passed instead of the options that should contain it.
 * Undefined for anything else.
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

/** The error for plans that were passed instead of the options: `{ free: '100/min', pro: '1000/min' }`. */
function findPlans(given: object, unknown: readonly string[]): ConfigError | undefined {
  const plans = Object.entries(given) as [name: string, plan: unknown][]
  const isPlan = (plan: unknown): boolean => isLimits([plan].flat())
  if (plans.length > unknown.length || !plans.every(([, plan]) => isPlan(plan))) return undefined
  // `limits` or `limt` is more likely a misspelt option than the name of a plan.
  if (plans.some(([name]) => nearestOf(name, ['limit', 'plans']) !== undefined)) return undefined
  const shown = plans
    .slice(0, MOST_SHOWN)
    .map(([name, plan]) => `${pathIn('', name)}: ${Array.isArray(plan) ? '[...]' : show(plan)}`)
  const all = plans.length > MOST_SHOWN ? [...shown, '...'] : shown
  return new ConfigError(
    unknown[0] ?? '',
    `plans belong in the option plans: write plans: { ${all.join(', ')} }`,
  )
}
