import { reasonOf } from './errors.js'
import { foreignText } from './show.js'
import { elapsedMs } from './timers.js'

/** Every code a warning of Tollgate can carry, and what it means. docs/reference/errors.md is held equal to this table. */
export const WARNING_CODES = {
  TOLLGATE_PROXY:
    'Requests come through a proxy that the framework does not trust, so its clients count as one.',
  TOLLGATE_TRUST: 'The framework trusts every proxy, so a client chooses its address.',
  TOLLGATE_STORE:
    'The store is not reached or does not answer, so onStoreFailure decides. At most once a minute for each reason.',
  TOLLGATE_STORE_BACK: 'The store decides again, after an outage that was told.',
  TOLLGATE_REDIS_CLIENT:
    'The Redis client is set so that requests can count twice, late or on an old primary, or so that Redis is used again late.',
  TOLLGATE_REDIS_SERVER:
    'Redis is older than Tollgate needs, drops keys when it is full, or refuses WAIT to waitForReplicas.',
  TOLLGATE_MEMCACHED_CLIENT: 'The Memcached client does not ask a server for a long time after an error.',
  TOLLGATE_ADDRESS: 'An id is an IP address, and is counted as the address of a client.',
  TOLLGATE_PLAN:
    'A subject has a plan that does not exist, or none where there is no defaultPlan. Once a name.',
  TOLLGATE_LIMITS:
    'Subjects bring so many different limits of their own that they are compiled again and again.',
  TOLLGATE_PROCESSES: 'The memory store is used in several processes, and each of them counts by itself.',
  TOLLGATE_POLICY:
    "A function for onStoreFailure threw or gave no policy, so 'local' was used. At most once a minute.",
  TOLLGATE_LISTENER: 'A listener of an event threw or rejected. At most once a minute.',
  TOLLGATE_REFUND: 'refundWhen threw or rejected, so nothing was given back. At most once a minute.',
  TOLLGATE_UNVERIFIED: 'byJwtClaim met a token that nothing has verified, and counts its client by address.',
  TOLLGATE_LATE_IDENTITY:
    'identify names nobody when a request is counted, and somebody later: authentication comes after the limiter.',
  TOLLGATE_NO_IDENTITY: 'identify gave nothing in its first 1000 requests, so all of them count by address.',
  TOLLGATE_HOOK_ORDER: 'Fastify: this version cannot be told to decide requests after all other hooks.',
  TOLLGATE_UNDEFINED:
    'The option store or hashIds was given as undefined, so its default holds. Once an option.',
  TOLLGATE_METRICS: 'Metrics of @tollgate/metrics could not be recorded.',
  TOLLGATE_MOUNTED_TWICE:
    'One request passed the same limiter twice and was counted twice in the same counters.',
  TOLLGATE_MADE_IN_HANDLER: 'rateLimit(...) is called for each request, so that none is ever limited.',
} as const

export type WarningCode = keyof typeof WARNING_CODES

/** Emits a Node process warning, on stderr by default. The text says what is wrong and what to type. */
export type Warn = (code: WarningCode, text: string) => void

export const warn: Warn = (code, text) => process.emitWarning(text, { type: 'TollgateWarning', code })

/** A registered symbol, since a process may load both builds of core. */
const SILENT = Symbol.for('tollgate.silent')

/** For a limiter with `warnings: false`. */
export const keepSilent: Warn = Object.assign(() => {}, { [SILENT]: true })

/** Whether this emits nothing. Then a warning that comes once per process must not count as given. */
export function isSilent(warn: Warn): boolean {
  return SILENT in warn
}

/** The time between two warnings of one kind. */
const EVERY_MS = 60_000

/**
 * Returns what says whether a kind of warning is due: each at most once a minute.
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

/** Lets each code through at most once a minute, for warnings of what can fail at every request. */
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
