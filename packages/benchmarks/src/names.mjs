// The names of the rows. A section writes them, and the report looks rows up by them.
export const INCR = 'INCR'
/** The same code as INCR. Differences as small as that between the two cannot be measured in this run. */
export const INCR_AGAIN = 'INCR, again'
export const INCR_PIPELINED = 'INCR, auto-pipelined'
export const INCR_NODE_REDIS = 'INCR, node-redis'
export const SCRIPT = 'bare EVALSHA'
export const SCRIPT_BATCHES = 'bare EVALSHA of batches'
export const FLOOR = 'floor: read and write each key'
export const FLOOR_AGAIN = 'floor, again'
/** A time and a level: less no exact limiter keeps. */
export const BARE_KEY = 'bare key of 13 bytes, with expiry'
export const NONE = 'no limiter'
export const NONE_AGAIN = 'no limiter, again'

/** The same answer as Tollgate's, with no decision: what no limiter goes below. */
export const BY_HAND = 'by hand'
export const BY_HAND_AGAIN = 'by hand, again'

export const EXPRESS = 'express-rate-limit'
export const EXPRESS_AGAIN = 'express-rate-limit, again'
export const FASTIFY = '@fastify/rate-limit'
export const KOA = 'koa-ratelimit'
export const FLEXIBLE = 'rate-limiter-flexible'
export const FLEXIBLE_BLOCK = 'rate-limiter-flexible, in-memory block'
export const FLEXIBLE_MEMORY = 'rate-limiter-flexible, memory'
export const FLEXIBLE_MEMORY_AGAIN = 'rate-limiter-flexible, memory, again'
export const EXPRESS_MEMORY = 'express-rate-limit, memory'

export const BUCKET = 'Tollgate: token bucket'
export const LOG = 'Tollgate: sliding log 1000/min'
export const LOG_100 = 'Tollgate: sliding log 100/min'
export const LOG_EXACT = 'Tollgate: log 1000/min, exact to 1 ms'
export const WINDOW = 'Tollgate: sliding window'
export const FIXED = 'Tollgate: fixed window'
export const THREE = 'Tollgate: three limits'
/** What the README begins with. */
export const MINUTE_AND_MONTH = 'Tollgate: 100/min and 5000000/month'
export const BUCKET_NODE_REDIS = 'Tollgate: token bucket, node-redis'
/** Each of these: 64 requests of one tenant that is over its limit, in a batch. */
export const BUCKET_DENIED = 'Tollgate: one denied tenant, token bucket'
export const LOG_DENIED = 'Tollgate: one denied tenant, log 100/min'
/** Every denial is asked of Redis. */
export const LOG_ASKED = 'Tollgate: sliding log 1000/min, denials: false'

export const isOurs = (name) => name.startsWith('Tollgate')

export const MEMORY = 'Tollgate: memory store'
export const MEMORY_AGAIN = 'Tollgate: memory store, again'
export const LEASED = 'Tollgate: with leases'
export const UNLEASED = 'Tollgate: without leases'
export const UNLEASED_AGAIN = 'Tollgate: without leases, again'
export const ONE_A_COMMAND = 'a decision, one request in a command'
export const MANY_A_COMMAND = 'a decision, 64 requests in a command'
export const RATED = 'Tollgate: a rate limit'
export const RATED_AGAIN = 'Tollgate: a rate limit, again'
export const SLOTS = 'Tollgate: with requests in flight'
export const SLOTS_BEGIN = 'Tollgate: with requests in flight, a begin'
export const SLOTS_END = 'Tollgate: with requests in flight, a release'
export const SLOTS_BOTH = 'Tollgate: with requests in flight, both'
export const WAITING = 'Tollgate: 50 requests in line'
export const RENEWAL = 'a renewal of a lease, 256 hot tenants'

export const NAMED_PLANS = 'Tollgate: named plans'
export const NAMED_PLANS_AGAIN = 'Tollgate: named plans, again'
export const OWN_LIMITS = 'Tollgate: limits of their own'

export const ONE_DAY = 'Tollgate: one day for all'
export const ONE_DAY_AGAIN = 'Tollgate: one day for all, again'
export const BILLING_DAYS = 'Tollgate: billing days of their own'

export const TRAFFIC = 'Tollgate: figures about traffic'
export const TRAFFIC_WATCHED = 'Tollgate: while somebody looks'

export const MEMCACHED_ADDRESS = 'Tollgate: by address'
export const MEMCACHED_NODE = 'Tollgate: package memcached'
export const MEMCACHED_MEMJS = 'Tollgate: package memjs'
/** Every denial is asked of Memcached. */
export const MEMCACHED_ASKED = 'Tollgate: by address, denials: false'
export const FLEXIBLE_MEMCACHED = 'rate-limiter-flexible, package memcached'
export const FLEXIBLE_MEMCACHED_AGAIN = 'rate-limiter-flexible, package memcached, again'
export const FLEXIBLE_MEMCACHED_BLOCK = 'rate-limiter-flexible, in-memory block'
export const FLEXIBLE_MEMCACHED_BLOCK_AGAIN = 'rate-limiter-flexible, in-memory block, again'

export const SHED = "Tollgate: shed: ['free', 'starter']"
export const UNSHED = 'Tollgate: without shed'

export const IMPORT_CORE = 'Tollgate: import @tollgate/core'
export const REQUIRE_CORE = 'Tollgate: require @tollgate/core'
export const IMPORT_ADAPTER = 'Tollgate: import @tollgate/express'
