import { attempt, isA, show, showKind, UNREADABLE } from './show.js'

export { isA, show } from './show.js'

/** Every code an error of Tollgate can carry, and what it means. docs/reference/errors.md is held equal to this table. */
export const ERROR_CODES = {
  ERR_TOLLGATE_CONFIG:
    'An option, plan or limit is wrong. Thrown at construction, or by the call that got it.',
  ERR_TOLLGATE_SUBJECT:
    'identify returned, or consume was passed, something that is not a subject, or a subject with wrong limits.',
  ERR_TOLLGATE_PLAN: 'planOf threw, took too long, or returned neither the name of a plan nor limits.',
  ERR_TOLLGATE_COST: 'The cost of a request is not a whole number from 1.',
  ERR_TOLLGATE_DECISION: 'refund or settle was passed something that is not a decision of this limiter.',
  ERR_TOLLGATE_STORE: 'The store answered with an error, or cannot be reached.',
  ERR_TOLLGATE_STORE_TIMEOUT: 'The store did not answer within the deadline.',
  ERR_TOLLGATE_CLOSED: 'The limiter was closed.',
  ERR_TOLLGATE_LIMITED: "A request was denied. Only a Fastify application's own error handler gets it.",
} as const

export type ErrorCode = keyof typeof ERROR_CODES

/**
 * The base class of all errors of Tollgate. Tell errors apart by `code`, not by `instanceof`: a process that loads both
 * the ESM and the CommonJS build has each class twice.
 */
export class TollgateError extends Error {
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
    this.code = code
  }
}

/** An option that cannot work. The message says where it stands, what is wrong and what to type instead. */
export class ConfigError extends TollgateError {
  /** Where the user wrote the option: `plans.free[0].burst`. Empty for the options as a whole. */
  readonly path: string
  /** What is wrong and what to type instead: the message without the path. */
  declare readonly problem: string

  /** @param problem without a full stop; may show a value of the user's only through `show` */
  constructor(path: string, problem: string) {
    super('ERR_TOLLGATE_CONFIG', path === '' ? problem : `${path}: ${problem}`)
    this.path = path
    // Not enumerable: what prints an error with its fields would say the same text twice.
    Object.defineProperty(this, 'problem', { value: problem })
  }

  /**
   * Makes the error for a value of the wrong kind or out of range. The message describes the value; the value is never
   * kept.
   */
  static wrong(path: string, given: unknown, expected: string): ConfigError {
    return new ConfigError(path, `got ${show(given)}, expected ${expected}`)
  }

  /** As `wrong`, for a value that may be a secret or contain one: of a text the message shows only the length. */
  static wrongSecret(path: string, given: unknown, expected: string): ConfigError {
    return new ConfigError(path, `got ${showKind(given)}, expected ${expected}`)
  }

  /** The same error with a longer path, for nested options: `burst` within `plans.free[0]` is `plans.free[0].burst`. */
  within(outer: string): ConfigError {
    if (outer === '') return this
    return new ConfigError(this.path === '' ? outer : `${outer}.${this.path}`, this.problem)
  }
}

/** The kind of a store's fault, for metrics and alerts. */
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

export interface StoreErrorOptions extends ErrorOptions {
  readonly code?: ErrorCode | undefined
  readonly reason?: StoreErrorReason | undefined
  readonly isOfRequest?: boolean | undefined
}

/** A fault of the store. Requests that the store cannot decide because of it are decided by the failure policy. */
export class StoreError extends TollgateError {
  /** The kind of fault; the message says what to do. */
  readonly reason: StoreErrorReason
  /** True when only this request's key is at fault and the store still decides other keys. */
  readonly isOfRequest: boolean

  constructor(message: string, options: StoreErrorOptions = {}) {
    const { code = 'ERR_TOLLGATE_STORE', reason, isOfRequest = false, ...rest } = options
    super(code, message, rest)
    this.reason = reason ?? REASONS[code] ?? 'unknown'
    this.isOfRequest = isOfRequest
  }
}

/** Reasons that pass by themselves. The others need somebody to put something right. */
const PASSING: readonly StoreErrorReason[] = ['timeout', 'unreachable', 'loading', 'cluster-down', 'unknown']

export function isPassing({ reason }: StoreError): boolean {
  return PASSING.includes(reason)
}

const REASONS: { readonly [Code in ErrorCode]?: StoreErrorReason } = {
  ERR_TOLLGATE_STORE_TIMEOUT: 'timeout',
  ERR_TOLLGATE_CLOSED: 'closed',
}

/** A thrown value as an Error. Frameworks do not treat a thrown `undefined` or string as a fault. */
export function toError(thrown: unknown): Error {
  return isA(thrown, Error) ? thrown : new Error(`thrown: ${show(thrown)}`, { cause: thrown })
}

/** A value thrown by a store, as a StoreError. */
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
 * Does the work of a public function. If it refuses an argument, the stack of the error starts where the function was
 * called: the mistake is there, and Tollgate's own frames would fill the ten that a stack shows.
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

/** As atCaller, for an error that was caught while `entry` runs. Returns the error. */
export function fromCaller(error: unknown, entry: Entry): unknown {
  // By its code, since a process can load the class twice.
  if (isA(error, Error) && MISTAKES.includes((error as Partial<TollgateError>).code)) {
    // Some browsers do not have it.
    Error.captureStackTrace?.(error, entry)
  }
  return error
}

/** The project on the web: installed packages have no docs, and a message is read far from the source. */
const SOURCES = 'https://github.com/tollgate-js/tollgate/blob/main'

/** The address of a page of the docs, such as `operations/redis.md`. */
export function pageOf(name: string): string {
  return `${SOURCES}/docs/${name}`
}

/** Where all options are listed. */
export const OPTIONS_PAGE: string = pageOf('reference/options.md')
