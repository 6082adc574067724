import { reasonOf } from './errors.js'
import { reportWarning } from './platform.js'
import { foreignText } from './show.js'
import { elapsedMs } from './timers.js'

// docs/reference/errors.md has the same texts; a test compares them.
/** The code of every warning that Tollgate emits, and what it means. */
export const WARNING_CODES = {
  TOLLGATE_PROXY:
    'Requests come through a proxy that the framework does not trust, so all clients behind it count as one client.',
  TOLLGATE_TRUST: 'The framework trusts every proxy, so clients can pretend to have any address.',
  TOLLGATE_STORE:
    'The store cannot be reached or does not answer, so onStoreFailure decides. At most once a minute for each reason.',
  TOLLGATE_STORE_BACK: 'The store decides again, after an outage that TOLLGATE_STORE reported.',
  TOLLGATE_REDIS_CLIENT:
    'The Redis client has settings that do not suit a rate limiter. The warning says what they can cause, and which settings to use.',
  TOLLGATE_REDIS_SERVER:
    'Redis is older than Tollgate needs, drops keys when it is full, or refuses WAIT, which waitForReplicas needs.',
  TOLLGATE_MEMCACHED_CLIENT: 'After an error, the Memcached client avoids the server for a long time.',
  TOLLGATE_ADDRESS: "An id is an IP address, so it counts as a client's address.",
  TOLLGATE_PLAN:
    "A subject's plan does not exist, or the subject has no plan and there is no defaultPlan. Once for each plan name.",
  TOLLGATE_LIMITS:
    'Subjects have so many different own limits that Tollgate compiles limits again and again.',
  TOLLGATE_PROCESSES:
    'Several processes of a cluster (node:cluster or PM2) use the memory store, and each has separate counts.',
  TOLLGATE_POLICY:
    "A function for onStoreFailure threw or returned no policy, so 'local' was used. At most once a minute.",
  TOLLGATE_LISTENER: 'An event listener threw or rejected. At most once a minute.',
  TOLLGATE_RULES:
    'The store refuses the calls that rules need, so no block or override works. Limits still work.',
  TOLLGATE_TRAFFIC:
    'The store refuses the calls that traffic figures and logs need, so limiter.traffic and denialLog know nothing. Limits and rules still work.',
  TOLLGATE_REFUND: 'refundWhen threw or rejected, so no units were given back. At most once a minute.',
  TOLLGATE_UNVERIFIED:
    'byJwtClaim found a token that has not been verified, so its client counts by address.',
  TOLLGATE_LATE_IDENTITY:
    'identify finds no subject when requests are counted, but finds one later: authentication runs after the limiter.',
  TOLLGATE_NO_IDENTITY:
    'identify returned nothing for its first 1000 requests, so all of them count by address.',
  TOLLGATE_HOOK_ORDER: 'This version of Fastify does not let the plugin run after all other hooks.',
  TOLLGATE_UNDEFINED:
    'The option store or hashIds is undefined, so its default applies. Once for each option.',
  TOLLGATE_AUTHORIZE: "The dashboard's authorize failed, so a request was refused. At most once a minute.",
  TOLLGATE_METRICS: 'Metrics of @tollgate/metrics could not be recorded.',
  TOLLGATE_MOUNTED_TWICE: 'A request passed the same limiter twice, so the same counters counted it twice.',
  TOLLGATE_MADE_IN_HANDLER: 'rateLimit(...) is called for each request, so no request is ever limited.',
  TOLLGATE_LIMIT_FUNCTION:
    "The middleware's limit is a function, so its drop-in store does not know the limit, and counts refused requests, too.",
} as const

/** The `code` of a warning. docs/reference/errors.md says what each one means. */
export type WarningCode = keyof typeof WARNING_CODES

/** Emits a Node process warning; in browsers, a console warning. The text says what is wrong and what to write. */
export type Warn = (code: WarningCode, text: string) => void

/** Emits a warning that belongs to no limiter. Those of a limiter go through its own `warn`, which it can silence. */
export const warn: Warn = (code, text) => reportWarning(code, text)

/** A registered symbol, since a process may load both builds of core. */
const SILENT = Symbol.for('tollgate.silent')

/** For a limiter with `warnings: false`. */
export const keepSilent: Warn = Object.assign(() => {}, { [SILENT]: true })

/** Whether this emits nothing. Then a warning that comes once per process must not count as given. */
export function isSilent(warn: Warn): boolean {
  return SILENT in warn
}

/** The time between two warnings of one kind, in ms. */
const EVERY_MS = 60_000

/**
 * Returns a function that says whether a kind of warning is due: each kind at most once a minute.
 *
 * @param clock in ms; for tests
 */
export function everyMinute<Kind>(clock: () => number = elapsedMs): (kind: Kind) => boolean {
  const nextMs = new Map<Kind, number>()
  return (kind) => {
    const nowMs = clock()
    const isDue = nowMs >= (nextMs.get(kind) ?? -Infinity)
    if (isDue) nextMs.set(kind, nowMs + EVERY_MS)
    return isDue
  }
}

/** Lets each code through at most once a minute, for warnings about what can fail at every request. */
export function onceAMinute(warn: Warn, clock?: () => number): Warn {
  const isDue = everyMinute<WarningCode>(clock)
  return (code, text) => {
    if (isDue(code)) warn(code, text)
  }
}

/** The message of a thrown value for a log: short, on one line. It may contain what a client sent. Never throws. */
export function thrownText(thrown: unknown): string {
  return foreignText(reasonOf(thrown))
}

/**
 * A value that the whole process shares. A process can load both the ESM and the CommonJS build, and then has two
 * copies of each module, but still one of this value.
 *
 * @param name identifies the value: the first call with a name makes it, later calls return the same
 */
export function processWide<T>(name: string, make: () => T): T {
  const key = Symbol.for(`@tollgate/core: ${name}`)
  const all = globalThis as { [shared: symbol]: unknown }
  return (all[key] ??= make()) as T
}
