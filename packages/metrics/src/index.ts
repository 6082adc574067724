import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Limiter, LimiterEvents } from '@tollgate/core'
import { channelOf } from '@tollgate/core/adapter'
import { readOptions, type InstrumentOptions } from './options.js'
import { Recorder, type EventName } from './recorder.js'
import { Watchlist } from './watchlist.js'

export type { InstrumentOptions, SubjectAttribute } from './options.js'

/** What is recorded from now on. */
export interface Instrumentation {
  /** Records no more. What was recorded stays with the meter. */
  stop(): void
}

/** How the message of each event's channel is read. */
const READERS: {
  readonly [Name in EventName]: (message: Message) => LimiterEvents[Name]
} = {
  decision: ({ decision }) => [decision],
  storeError: ({ error, requests }) => [error, requests],
  breaker: (change) => [change],
  fallback: ({ decision, error }) => [decision, error],
  reconciliation: (reconciled) => [reconciled],
  evicted: ({ subjects }) => [subjects],
  planError: ({ error, subject }) => [error, subject],
  unknownPlan: ({ subject, used }) => [subject, used],
}

type Events = LimiterEvents
/** Of whichever event it is. */
type Message = {
  readonly limiter: Limiter
  readonly decision: Events['decision'][0]
  readonly error: Events['storeError'][0]
  readonly requests: Events['storeError'][1]
  readonly subjects: Events['evicted'][0]
  readonly subject: Events['unknownPlan'][0]
  readonly used: Events['unknownPlan'][1]
} & Events['breaker'][0] &
  Events['reconciliation'][0]

const NAMES = Object.keys(READERS) as EventName[]

/**
 * Records what a limiter does as OpenTelemetry metrics. Where there are several, give each `attributes` of its own.
 *
 * @throws {ConfigError} when it is no limiter, or an option is wrong
 * @example
 * const { stop } = instrument(limiter, { attributes: { 'tollgate.limiter.name': 'api' } })
 */
export function instrument(limiter: Limiter, options: InstrumentOptions = {}): Instrumentation {
  const watchlist = new Watchlist(false)
  watchlist.add(limiter)
  const recorder = new Recorder(readOptions(options), watchlist)
  const undo = NAMES.map((name) => listen(limiter, name, recorder))
  return stoppable(recorder, undo)
}

/**
 * Records what all limiters of this process do together, those that adapters make included. A limiter is known from its
 * first event on. One that has an instrumentation of its own, too, counts in both.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function instrumentAll(options: InstrumentOptions = {}): Instrumentation {
  const recorder = new Recorder(readOptions(options), new Watchlist(true))
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
  const channel = channelOf(name)
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
