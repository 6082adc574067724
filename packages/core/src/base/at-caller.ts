import { isA, type ErrorCode, type TollgateError } from './errors.js'

/** Something that is called with `()` or `new`. */
type Entry = ((...args: never[]) => unknown) | (abstract new (...args: never[]) => unknown)

/** Errors about what a caller gave. */
const MISTAKES: readonly unknown[] = [
  'ERR_TOLLGATE_CONFIG',
  'ERR_TOLLGATE_SUBJECT',
  'ERR_TOLLGATE_COST',
] satisfies ErrorCode[]

/**
 * Does the work of a public function. If it refuses what it was given, the stack of that error begins where the function
 * was called: the mistake is there, and Tollgate's own frames would fill the ten that a stack shows.
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
    Error.captureStackTrace(error, entry)
  }
  return error
}
