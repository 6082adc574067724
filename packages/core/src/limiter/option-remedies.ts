import { LONGEST_WINDOW_MS, notationOf, readDuration } from '../base/duration.js'
import { errorOfParts } from './limit-parts.js'
import { ConfigError } from '../base/errors.js'
import { pageOf } from '../base/pages.js'
import { isUnits } from '../base/units.js'

const OF_A_STORE = 'it goes to the store: redisStore(client, { prefix: ... })'
const OF_THE_CACHE = 'it goes to planCache: { ttlMs: 60000, staleMs: 3600000 }'
const OF_HEADERS = 'it goes to headers: { standard: true, single: true }'
const OF_HEADERS_OFF = 'write headers: { single: false }, or headers: false for none'
const OF_KEYS = "write store: redisStore(client, { prefix: 'myapp' })"
const IN_FLIGHT = "write limit: '20 concurrent', or beside other limits: ['100/min', '20 concurrent']"

/** What to type in place of options that belong elsewhere in Tollgate, or to another package. */
const REMEDIES: Readonly<Record<string, string>> = {
  hook: 'it goes to the plugin of Fastify: app.register(rateLimit, { hook })',
  prefix: OF_A_STORE,
  shards: OF_A_STORE,
  waitForReplicas: OF_A_STORE,
  maxSubjects: 'it goes to the store: memoryStore({ maxSubjects })',
  instances: 'it goes to local: { instances }',
  ttlMs: OF_THE_CACHE,
  staleMs: OF_THE_CACHE,
  standard: OF_HEADERS,
  single: OF_HEADERS,
  legacy: OF_HEADERS,
  partitionKey: OF_HEADERS,
  expose: OF_HEADERS,
  lease: "it goes to a plan: plans: { pro: { limits: '6000/min', lease: true } }",
  concurrent: IN_FLIGHT,
  concurrency: IN_FLIGHT,
  maxConcurrent: IN_FLIGHT,
  wait: "it goes to a plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }",
  limits: "write limit: ['100/min', '1000/h']",
  // Options of other packages:
  keyGenerator: 'write identify: (req) => ...',
  handler: 'write onDenied: (req, res, decision) => ...',
  message: 'write body: (decision) => ...',
  statusCode: 'write onDenied: (req, res, decision) => ...',
  errorMessage: 'write body: (decision) => ...',
  errorResponseBuilder: 'write body: (decision) => ...',
  skipFailedRequests:
    'write refundWhen: ({ status }) => status >= 500; from 400 on, as theirs, a client can get units back as it likes',
  skipSuccessfulRequests: 'write refundWhen: ({ status }) => status < 400',
  standardHeaders: 'write headers: { standard: true }',
  legacyHeaders: "write headers: { legacy: 'epoch' }",
  addHeaders: OF_HEADERS_OFF,
  addHeadersOnExceeding: OF_HEADERS_OFF,
  disableHeader: 'write headers: false',
  passOnStoreError: "write onStoreFailure: 'open'",
  skipOnError: "write onStoreFailure: 'open'",
  insuranceLimiter: "write onStoreFailure: 'local'",
  whitelist: 'write allowList: [...]',
  blacklist: 'write blockList: [...]',
  redis: 'write store: redisStore(client)',
  client: 'write store: redisStore(client)',
  storeClient: 'write store: redisStore(client)',
  db: 'write store: redisStore(client)',
  nameSpace: OF_KEYS,
  namespace: OF_KEYS,
  keyPrefix: OF_KEYS,
}

/** What to type in place of an option: `it goes to the store: ...`. Undefined if the option is not known. */
export function remedyOf(name: string): string | undefined {
  return Object.hasOwn(REMEDIES, name) ? REMEDIES[name] : undefined
}

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

/** One error for options that belong together: those of another package, or the parts of a limit. */
export function errorOfKnown(given: object, unknown: readonly string[]): ConfigError | undefined {
  return errorOfOthers(given, unknown) ?? errorOfParts(given, unknown)
}

/** The error for options of another package. It says the same limit in Tollgate's notation. */
function errorOfOthers(given: object, unknown: readonly string[]): ConfigError | undefined {
  const other = PACKAGES.find(({ signs }) => signs.some((sign) => unknown.includes(sign)))
  if (!other) return undefined
  const [sign = ''] = unknown.filter((name) => other.signs.includes(name))
  const replaced = other.ofLimit.filter((name) => Object.hasOwn(given, name))
  const limit =
    replaced.length === 0 ? [] : [`${limitOf(other, given as Given)} in place of ${replaced.join(' and ')}`]
  const others = unknown
    .filter((name) => !replaced.includes(name) && remedyOf(name) !== undefined)
    .slice(0, 3)
  const rest = others.map((name) => `${remedyOf(name)?.replace(/^write /, '')} in place of ${name}`)
  const problem = `an option of ${other.name}; ${[...limit, ...rest].join(', ')} (all others: ${other.page})`
  return new ConfigError(sign, problem)
}

/** `write limit: '100/15min'`, with the user's own numbers if they can be read; otherwise an example. */
function limitOf({ windowMs }: OtherPackage, given: Given): string {
  const quota = [given.limit, given.max, given.points].find(isUnits)
  const ms = windowMs(given)
  const isLength = ms !== undefined && Number.isSafeInteger(ms) && ms >= 1 && ms <= LONGEST_WINDOW_MS
  const limit = `limit: '${quota ?? 100}/${isLength ? notationOf(ms) : 'min'}'`
  return quota === undefined || !isLength ? `write a limit such as ${limit}` : `write ${limit}`
}
