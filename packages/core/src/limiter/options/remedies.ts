import { plainName } from '../../base/options.js'

/** What to write instead of an option: of Tollgate's that belong elsewhere, then of other packages' options. */
const TABLE = `
hook -> pass it to Fastify's plugin: app.register(rateLimit, { hook })
prefix shards waitForReplicas -> pass it to the store: redisStore(client, { prefix: ... })
maxSubjects maxKeys maxEntries cacheSize -> pass it to the store: memoryStore({ maxSubjects })
instances workers processes -> put it into local: { instances }
ttlMs staleMs -> put it into planCache: { ttlMs: 60000, staleMs: 3600000 }
standard single legacy partitionKey expose -> put it into headers: { standard: true, single: true }
lease -> put it into a plan: plans: { pro: { limits: '6000/min', lease: true } }
wait delay delayMs delayAfter maxDelay maxDelayMs maxWait maxWaitMs queue maxQueue queueSize execEvenly execEvenlyMinDelayMs -> put it into a plan: plans: { batch: { limits: '10/s burst 20', wait: { maxDelay: '2s' } } }
concurrent concurrency maxConcurrent maxConcurrency inFlight maxInFlight parallel -> write limit: '20 concurrent', or beside other limits: ['100/min', '20 concurrent']

limits rateLimits throttlers bandwidths quotas -> write limit: ['100/min', '1000/h']
rate requests maxRequests tokensPerInterval interval period ttl windowSize windowSeconds timeframe timeUnit unit perSecond perMinute perHour rps rpm capacity refill refillRate refillGreedy bandwidth zone throttle -> write limit: '100/min', or with a burst '10/s burst 20'
nodelay fireImmediately -> leave it out: a burst passes at once, unless the plan has wait
defaultLimit defaultLimits -> write limit: '100/min', or plans and defaultPlan: 'free'
default fallbackPlan defaultTier -> write defaultPlan: 'free'
tiers -> write plans: { free: '100/min', pro: '1000/min' }
plan getPlan planFor planName planFn tier getTier -> return { id, plan } from identify, or look it up: planOf: ({ id }) => ...; what you sell goes to plans

key keyGenerator generateKey getKey keyFn keyFunc keyBy keyResolver id getId identity getTracker subject user userId tenant limitBy cacheKey -> write identify: (req) => ...
ipv6Subnet ipv6Prefix ipKeyGenerator -> write identify: byIp({ ipv6Prefix: 64 })
trustProxy trust proxy behindProxy -> set it in the framework: app.set('trust proxy', 1), Fastify({ trustProxy: [...networks] }), new Koa({ proxy: true, maxIpsCount: 1 })
hash hashKeys secret -> write hashIds: process.env.ID_SECRET

weight getCost requestCost consume units pointsToConsume -> write cost: 5, or cost: (req) => ...
groupId scope -> write group: 'search'
stack stacks onTop -> write stacked: { export: '5/min' }
skipIf skipCondition exclude ignore filter unless when condition executeCondition enabled disabled ignoreUserAgents -> write skip: (req) => ..., true for requests that are not limited
path paths route routes url global -> mount it on those routes alone, or write skip: (req) => ...
whitelist safelist allowed exempt skipList -> write allowList: [...]
blacklist denylist banned -> write blockList: [...]
blockAfter ban banDuration blockFor onBanReach continueExceeding exponentialBackoff inMemoryBlockOnConsumed inMemoryBlockDuration -> put it into a plan: plans: { free: { limits: '100/min', blockAfter: { denials: 100, within: '1min', for: ['1min', '1h'] } } }
skipFailedRequests requestWasSuccessful -> write refundWhen: ({ status = 0 }) => status >= 500; with status >= 400, as there, a client could get units back at will
skipSuccessfulRequests -> write refundWhen: ({ status, isAborted }) => !isAborted && status < 400
loadShedding overload -> write shed: ['free']

handler limitHandler errorHandler -> write onDenied: (req, res, decision) => ...
onLimit onLimited onLimitReached onExceeded onExceeding onRateLimit onRateLimited onBlocked onReject onDeny -> write onDenied: (req, res, decision) => ..., or listen: limiter.on('limited', (decision) => ...)
statusCode status httpStatus errorCode throw -> write onDenied: (req, res, decision) => ..., which sets the status
message errorMessage errorResponseBuilder response responseBody -> write body: (decision) => ...
maxRetryAfter maxRetryAfterSeconds -> write maxRetryAfterMs: 60000
jitter jitterMs retryJitter -> write retryJitterMs: 5000
retryAfter -> leave it out: it is always sent; maxRetryAfterMs bounds it
standardHeaders enableDraftSpec -> write headers: { standard: true }
legacyHeaders -> write headers: { legacy: 'epoch' }
exposeHeaders -> write headers: { expose: true }
addHeaders addHeadersOnExceeding setHeaders sendHeaders headersEnabled -> write headers: { single: false }, or headers: false for none
disableHeader disableHeaders -> write headers: false
requestPropertyName property -> write requestProperty: 'apiLimit'
identifier limitName -> name the limit itself: limit: { quota: 100, window: 'min', name: 'api' }

failOpen passOnStoreError skipOnError allowOnError faultTolerant swallowErrors ignoreErrors -> write onStoreFailure: 'open'
failClosed denyOnError blockOnError -> write onStoreFailure: 'closed'
insuranceLimiter inMemoryFallback fallbackLimiter -> write onStoreFailure: 'local'
fallback failureMode failurePolicy onFailure onRedisFailure -> write onStoreFailure: 'local', 'open' or 'closed'
onError onStoreError onRedisError -> listen: limiter.on('storeError', (error) => ...); what to answer then is onStoreFailure
timeout timeoutMs deadline storeTimeout redisTimeout -> write deadlineMs: 100
redis redisClient redisUrl redisOptions connection client storeClient db driver sendCommand valkey -> write store: redisStore(client)
memcached memcachedClient -> write store: memcachedStore(address)
storage backend -> write store: redisStore(client), or memoryStore()
memory inMemory -> leave it out: a limiter without a store counts in memory
cache ephemeralCache localCache -> leave it out: denials are remembered anyway; denials: false turns that off
namespace keyPrefix redisPrefix -> write store: redisStore(client, { prefix: 'myapp' })

logger log debug verbose analytics metrics events -> listen: limiter.on('limited', (decision) => ...), or use @tollgate/metrics
validate -> leave it out: options are always checked; warnings: false turns warnings off
dryRun shadow reportOnly -> call limiter.consume(id) in a middleware that lets every request pass, and listen: limiter.on('limited', ...)
`

/** The remedies by the plain names of the options. */
const REMEDIES: ReadonlyMap<string, string> = new Map(
  TABLE.split('\n').flatMap((row) => {
    const [names = '', remedy = ''] = row.split(' -> ')
    return remedy === '' ? [] : names.split(' ').map((name) => [plainName(name), remedy] as const)
  }),
)

/**
 * What to write instead of an option, whose name may be in any spelling: `pass it to the store: ...`. Undefined if the
 * option is not known.
 */
export function remedyOf(name: string): string | undefined {
  return REMEDIES.get(plainName(name))
}

/** The option of Tollgate that the remedy says to write; undefined if it says anything else. */
export function findReplacement(name: string): string | undefined {
  return /^write (\w+)/.exec(remedyOf(name) ?? '')?.[1]
}

/** Every option that has a remedy, in its plain spelling. */
export const REMEDIED: readonly string[] = [...REMEDIES.keys()]
