import { attempt, isA, show, showKind, UNREADABLE } from './show.js'

export { isA, show } from './show.js'

// docs/reference/errors.md has the same texts; a test compares them.
/** The code of every Tollgate error, and what it means. */
export const ERROR_CODES = {
  ERR_TOLLGATE_CONFIG:
    'An option, plan or limit is wrong. The function that got it, such as createLimiter, throws this error.',
  ERR_TOLLGATE_SUBJECT:
    'The value that identify returned, or that you passed to consume, is not a subject or has wrong limits.',
  ERR_TOLLGATE_PLAN: 'planOf threw, took too long, or returned neither the name of a plan nor limits.',
  ERR_TOLLGATE_COST: 'The cost of a request is not a whole number of at least 1.',
  ERR_TOLLGATE_KEY: 'A key of topUp, renew or penalize was booked with other values. Nothing was booked now.',
  ERR_TOLLGATE_TOO_MANY_KEYS:
    'A subject has too many keys of topUp, renew and penalize that still count. Nothing was booked.',
  ERR_TOLLGATE_DECISION: 'What you passed to refund or settle is not a decision of this limiter.',
  ERR_TOLLGATE_REFERENCE: 'A text is no reference of a denial that one of these secrets sealed.',
  ERR_TOLLGATE_STORE: 'The store answered with an error, or cannot be reached.',
  ERR_TOLLGATE_STORE_TIMEOUT: 'The store did not answer within the deadline.',
  ERR_TOLLGATE_CLOSED: 'The limiter was closed.',
  ERR_TOLLGATE_LIMITED:
    "A request was denied. Only a Fastify application's own error handler gets this error.",
} as const

/** The `code` of an error: one of the names in `ERROR_CODES`. */
export type ErrorCode = keyof typeof ERROR_CODES

/**
 * The base class of Tollgate's errors. Check the `code`, not the class: a process that loads both the ESM and the
 * CommonJS build has every class twice.
 */
export class TollgateError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/**
 * An option, plan or limit is wrong. The message says which one, what is wrong with it and what to write instead. Authors of
 * stores and adapters make it for options of their own.
 */
export class ConfigError extends TollgateError {
  /** Locates the option: `plans.free[0].burst`. Empty for the options as a whole. */
  readonly path: string
  /** What is wrong and what to write instead: the message without the path. */
  declare readonly problem: string

  /**
   * For authors of stores and adapters.
   *
   * @param problem what is wrong and what to type instead, without a full stop
   */
  constructor(path: string, problem: string) {
    // A problem shows a value of the user's only through `show`.
    super('ERR_TOLLGATE_CONFIG', path === '' ? problem : `${path}: ${problem}`)
    this.path = path
    // Not enumerable: what prints an error with its fields would say the same text twice.
    Object.defineProperty(this, 'problem', { value: problem })
  }

  /**
   * For authors of stores and adapters: the error for a value of the wrong kind or out of range. The message describes
   * the value, which the error does not keep.
   */
  static wrong(path: string, given: unknown, expected: string): ConfigError {
    return new ConfigError(path, `got ${show(given)}, expected ${expected}`)
  }

  /** As `wrong`, for a value that may be a secret or contain one. For a string, the message shows only its length. */
  static wrongSecret(path: string, given: unknown, expected: string): ConfigError {
    return new ConfigError(path, `got ${showKind(given)}, expected ${expected}`)
  }

  /**
   * For authors of stores and adapters: the same error with a longer path, for nested options. `burst` within
   * `plans.free[0]` is `plans.free[0].burst`.
   */
  within(outer: string): ConfigError {
    if (outer === '') return this
    return new ConfigError(this.path === '' ? outer : `${outer}.${this.path}`, this.problem)
  }
}

/** What kind of failure a `StoreError` is, for metrics and alerts. */
export type StoreErrorReason =
  | 'timeout'
  | 'unreachable'
  | 'out-of-memory'
  | 'read-only'
  | 'loading'
  | 'busy'
  | 'wrong-server'
  | 'cluster-down'
  | 'not-permitted'
  | 'foreign-value'
  | 'protocol'
  | 'script-missing'
  | 'closed'
  | 'unknown'

/** What a store says about an error that it reports. */
export interface StoreErrorOptions extends ErrorOptions {
  /** Default: `ERR_TOLLGATE_STORE`. */
  readonly code?: ErrorCode | undefined
  /** Default: the reason that the code stands for, else `unknown`. */
  readonly reason?: StoreErrorReason | undefined
  /** Whether only this request is affected. Default: false. */
  readonly isOfRequest?: boolean | undefined
}

/** The store failed. The failure policy answers the requests that it could not decide. */
export class StoreError extends TollgateError {
  /** What kind of failure it is. The message says what to do. */
  readonly reason: StoreErrorReason
  /** True if only this request is affected: the store still decides others. */
  readonly isOfRequest: boolean

  constructor(message: string, options: StoreErrorOptions = {}) {
    const { code = 'ERR_TOLLGATE_STORE', reason, isOfRequest = false, ...rest } = options
    super(code, message, rest)
    this.reason = reason ?? REASONS[code] ?? 'unknown'
    this.isOfRequest = isOfRequest
  }
}

/** Reasons that pass by themselves. The others need a fix. */
const PASSING: readonly StoreErrorReason[] = ['timeout', 'unreachable', 'loading', 'cluster-down', 'unknown']

export function isPassing({ reason }: StoreError): boolean {
  return PASSING.includes(reason)
}

const REASONS: { readonly [Code in ErrorCode]?: StoreErrorReason } = {
  ERR_TOLLGATE_STORE_TIMEOUT: 'timeout',
  ERR_TOLLGATE_CLOSED: 'closed',
}

/** Turns a thrown value into an Error. Frameworks do not treat a thrown `undefined` or string as an error. */
export function toError(thrown: unknown): Error {
  return isA(thrown, Error) ? thrown : new Error(`thrown: ${show(thrown)}`, { cause: thrown })
}

/** Turns a value that a store threw into a StoreError. */
export function toStoreError(thrown: unknown): StoreError {
  if (isA(thrown, StoreError)) return thrown
  return new StoreError(`the store failed: ${reasonOf(thrown)}`, { cause: thrown })
}

/** The message of a thrown value. Never throws. */
export function reasonOf(thrown: unknown): string {
  return attempt(() => (thrown instanceof Error ? String(thrown.message) : show(thrown)), UNREADABLE)
}

/** A public function or class. */
type Entry = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)

/** Errors about the arguments of a call. */
const MISTAKES: readonly unknown[] = [
  'ERR_TOLLGATE_CONFIG',
  'ERR_TOLLGATE_SUBJECT',
  'ERR_TOLLGATE_COST',
] satisfies ErrorCode[]

/**
 * Runs the body of a public function. If it refuses an argument, the error's stack starts at the call of that function:
 * the mistake is there, and Tollgate's own frames would fill the ten that a stack shows.
 *
 * @param entry the public function or class itself, which must be running
 * @throws what `run` throws
 */
export function atCaller<T>(entry: Entry, run: () => T): T {
  try {
    return run()
  } catch (error) {
    throw fromCaller(error, entry)
  }
}

/** Like atCaller, for an error that was caught while `entry` runs. Returns the error. */
export function fromCaller(error: unknown, entry: Entry): unknown {
  // Checks the code, since a process can load the class twice.
  if (isA(error, Error) && MISTAKES.includes((error as Partial<TollgateError>).code)) {
    // Some browsers lack it.
    Error.captureStackTrace?.(error, entry)
  }
  return error
}

/** The project on the web. Messages link there, since installed packages contain no docs. */
const SOURCES = 'https://github.com/tollgate-js/tollgate/blob/main'

/** The address of a page of the docs, such as `operations/redis.md`. */
export function pageOf(name: string): string {
  return `${SOURCES}/docs/${name}`
}

/** Where all options are listed. */
export const OPTIONS_PAGE: string = pageOf('reference/options.md')
