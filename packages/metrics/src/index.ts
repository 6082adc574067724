import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Limiter, LimiterEvents } from '@tollgate/core'
import { atCaller, channelFor } from '@tollgate/core/adapter'
import { readOptions, type InstrumentOptions } from './options.js'
import { Recorder, type EventName } from './recorder.js'
import { Watchlist } from './watchlist.js'

export type { InstrumentOptions, SubjectAttribute } from './options.js'

/** Stops what `instrument` or `instrumentAll` began. */
export interface Instrumentation {
  /** Stops recording. Recorded values stay with the meter. */
  stop(): void
}

/** Turns a message from an event's channel back into the event's arguments. */
const READERS: {
  readonly [Name in EventName]: (message: Message) => LimiterEvents[Name]
} = {
  decision: ({ decision }) => [decision],
  storeError: ({ error, requests }) => [error, requests],
  breaker: (change) => [change],
  fallback: ({ decision, error }) => [decision, error],
  reconciliation: (reconciled) => [reconciled],
  evicted: ({ subjects }) => [subjects],
  rule: (change) => [change],
  shed: (shed) => [shed],
  blocked: (blocked) => [blocked],
  nearLimit: (near) => [near],
  booked: (change) => [change],
  planError: ({ error, subject }) => [error, subject],
  unknownPlan: ({ subject, used }) => [subject, used],
}

type Events = LimiterEvents
/** The message of any event. */
type Message = {
  readonly limiter: Limiter
  readonly decision: Events['decision'][0]
  readonly error: Events['storeError'][0]
  readonly requests: Events['storeError'][1]
  readonly subjects: Events['evicted'][0]
  readonly subject: Events['unknownPlan'][0]
  readonly used: Events['unknownPlan'][1]
} & Events['breaker'][0] &
  Events['reconciliation'][0] &
  Events['rule'][0] &
  Events['shed'][0] &
  Events['blocked'][0] &
  Events['nearLimit'][0] &
  Events['booked'][0]

const NAMES = Object.keys(READERS) as EventName[]

/**
 * Records what a limiter does as OpenTelemetry metrics: decisions, denials by limit, store errors and more. With several limiters,
 * give each its own `attributes`.
 *
 * @param limiter from `createLimiter`, or `rateLimit(...).limiter`
 * @throws {ConfigError} when it is not a limiter, or an option is wrong
 * @example
 * const { stop } = instrument(limiter, { attributes: { 'tollgate.limiter.name': 'api' } })
 */
export function instrument(limiter: Limiter, options: InstrumentOptions = {}): Instrumentation {
  const recorder = atCaller(instrument, () => {
    const watchlist = new Watchlist(false)
    watchlist.add(limiter)
    return new Recorder(readOptions(options), watchlist)
  })
  const undo = NAMES.map((name) => listen(limiter, name, recorder))
  return stoppable(recorder, undo)
}

/**
 * Records what all limiters in this process do as OpenTelemetry metrics, including those that adapters create. A limiter is
 * included from its first event on. If you also call `instrument` for a limiter, both record it.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function instrumentAll(options: InstrumentOptions = {}): Instrumentation {
  const recorder = new Recorder(
    atCaller(instrumentAll, () => readOptions(options)),
    new Watchlist(true),
  )
  return stoppable(
    recorder,
    NAMES.map((name) => subscribeTo(name, recorder)),
  )
}

function listen<Name extends EventName>(limiter: Limiter, name: Name, recorder: Recorder): () => void {
  const listener = (...args: LimiterEvents[Name]): void =>
    recorder.attempt(() => recorder.record(name, limiter, args))
  limiter.on(name, listener)
  return () => void limiter.off(name, listener)
}

function subscribeTo(name: EventName, recorder: Recorder): () => void {
  const channel = channelFor(name)
  const read = READERS[name]
  const listener = (given: unknown): void => {
    recorder.attempt(() => {
      const message = given as Message
      recorder.record(name, message.limiter, read(message))
    })
  }
  subscribe(channel, listener)
  return () => void unsubscribe(channel, listener)
}

function stoppable(recorder: Recorder, undo: readonly (() => void)[]): Instrumentation {
  return {
    stop: () => {
      for (const off of undo) off()
      recorder.end()
    },
  }
}
