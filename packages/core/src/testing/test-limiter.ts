import { AssertionError } from 'node:assert'
import { atCaller, ConfigError } from '../base/errors.js'
import { isOptions } from '../base/options.js'
import { clearTimeout, setTimeout } from '../base/timers.js'
import { createLimiter } from '../limiter/create-limiter.js'
import type { Decision } from '../limiter/decision/decision.js'
import type { Limiter } from '../limiter/limiter.js'
import type { LimiterOptions } from '../limiter/options/limiter-options.js'
import type { EventContext, LimiterEvents } from '../limiter/report/events.js'
import type { Subject } from '../plans/subject.js'
import { subjectKey } from '../requests/key.js'
import { needSubject } from '../requests/subject/subject.js'
import { clockOf, testClock, type TestClock } from './clock.js'

/** The options of `createTestLimiter`: those of `createLimiter`, and a clock. */
export type TestLimiterOptions<Plans extends string = string> = LimiterOptions<Plans> & {
  /** The clock of the limiter's memory store. Default: a new one. Leave it out if you pass a `store`: that has a clock. */
  readonly clock?: TestClock | undefined
}

/** Decisions, in the order in which they were made. The lists are copies: later decisions are not added to them. */
export interface RecordedDecisions {
  readonly decisions: readonly Decision[]
  /** Those that let a request pass. */
  readonly allowed: readonly Decision[]
  /** Those that denied one. */
  readonly denied: readonly Decision[]
}

/**
 * A limiter that records its decisions: those on requests in all its scopes, also over HTTP. It does not record `peek`, and
 * requests that an adapter answers without it: those on its allow or block list, and those that are shed.
 */
export interface TestLimiter<Plans extends string = string> extends Limiter<Plans>, RecordedDecisions {
  /**
   * The clock of its store.
   *
   * @throws {ConfigError} when you passed a `store` that is on no clock of `testClock`
   */
  readonly clock: TestClock
  /**
   * The decisions on requests that this subject paid for. If a request has several subjects, that is the first.
   *
   * @throws {TollgateError} ERR_TOLLGATE_SUBJECT
   */
  of(subject: Subject | string): RecordedDecisions
  /** The request's `context`, or over HTTP what the adapter's `eventContext` gave. Undefined if there was none. */
  contextOf(decision: Decision): EventContext | undefined
  /**
   * Resolves at the next event of this name with what its listeners get, for what happens in real time: such as `reconciliation` after
   * `store.heal()`, when the store was charged. Call it before what causes the event. It keeps the process alive meanwhile.
   *
   * @throws {ConfigError} when there is no such event
   * @throws {AssertionError} of Node, as a rejection, if there was none within 30 s
   * @example
   * const charged = limiter.next('reconciliation')
   * store.heal()
   * await charged
   */
  next<Name extends keyof LimiterEvents>(event: Name): Promise<LimiterEvents[Name]>
  /** Forgets the decisions that were recorded. Units that were taken still count: `reset` forgets those. */
  clear(): void
}

/**
 * Creates a limiter for a test: one of `createLimiter`, with its own memory store on a clock that the test moves, which records
 * its decisions. Pass it wherever a limiter goes, such as to `rateLimit({ limiter })`.
 *
 * @param options as for `createLimiter`. With a `store` it counts there
 * @throws {ConfigError} when an option is wrong, or there are both a store and a clock
 * @example
 * const limiter = createTestLimiter({ limit: '1/min' })
 * expectAllowed(await limiter.consume('acme'))
 * expectDenied(await limiter.consume('acme'), { by: 'minute' })
 * limiter.clock.advance('1min')
 * expectAllowed(await limiter.consume('acme'))
 */
export function createTestLimiter<Plans extends string = string>(
  options: TestLimiterOptions<Plans>,
): TestLimiter<Plans> {
  return atCaller(createTestLimiter, () => {
    if (!isOptions(options)) return createLimiter(options) as never
    const { clock, ...others } = options
    const store = others.store ?? (clock ? needTestClock(clock) : testClock()).memoryStore()
    if (clock && store === others.store) {
      throw new ConfigError('clock', 'the store has a clock; give that to it: store: clock.memoryStore()')
    }
    return recording(createLimiter({ ...others, store } as LimiterOptions<Plans>), clockOf(store))
  })
}

function needTestClock(given: unknown): TestClock {
  const clock = given as Partial<TestClock>
  if (typeof clock.memoryStore === 'function') return given as TestClock
  throw ConfigError.wrong('clock', given, "a clock: testClock('2030-01-01')")
}

/** Adds the records to the limiter itself: a wrapper would hide what adapters need of a limiter. */
function recording<Plans extends string>(
  limiter: Limiter<Plans>,
  clock: TestClock | undefined,
): TestLimiter<Plans> {
  let decisions: Decision[] = []
  const contexts = new WeakMap<Decision, EventContext>()
  limiter.on('decision', (decision, context) => {
    decisions.push(decision)
    if (context) contexts.set(decision, context)
  })
  const added: Omit<TestLimiter, keyof Limiter | keyof RecordedDecisions> = {
    get clock() {
      if (clock) return clock
      throw new ConfigError('clock', 'the store has none; make it with one: store: testClock().memoryStore()')
    },
    of(subject) {
      const key = subjectKey(atCaller(added.of, () => needSubject(subject)))
      return recordsOf(() => decisions.filter((decision) => subjectKey(decision.subject) === key))
    },
    contextOf: (decision) => contexts.get(decision),
    next: (event) => nextOf(limiter, event, added.next),
    clear: () => void (decisions = []),
  }
  for (const part of [added, recordsOf(() => decisions)])
    Object.defineProperties(limiter, Object.getOwnPropertyDescriptors(part))
  return limiter as TestLimiter<Plans>
}

/** The breaker pauses for at most 8 s between probes. */
const LONGEST_MS = 30_000

/** @param entry the function that the test called, where the stack of an error begins */
function nextOf<Name extends keyof LimiterEvents>(
  limiter: Limiter,
  event: Name,
  entry: (event: never) => unknown,
): Promise<LimiterEvents[Name]> {
  let listener = (..._: LimiterEvents[Name]): void => {}
  const heard = new Promise<LimiterEvents[Name]>((resolve) => (listener = (...args) => resolve(args)))
  atCaller(entry, () => limiter.on(event, listener))
  const message = `expected an event '${event}' of the limiter, but there was none within ${LONGEST_MS / 1000} s`
  const failure = new AssertionError({ message, stackStartFn: entry })
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(failure), LONGEST_MS)))
  return Promise.race([heard, late]).finally(() => {
    clearTimeout(timer)
    limiter.off(event, listener)
  })
}

function recordsOf(read: () => readonly Decision[]): RecordedDecisions {
  return {
    get decisions() {
      return [...read()]
    },
    get allowed() {
      return read().filter(({ allowed }) => allowed)
    },
    get denied() {
      return read().filter(({ allowed }) => !allowed)
    },
  }
}
