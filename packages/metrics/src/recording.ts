import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Limiter, LimiterEvents } from '@tollgate/core'
import { channelFor, internalsOf } from '@tollgate/core/adapter'
import type { Collector } from './collector.js'
import { ATTRIBUTES } from './instruments.js'
import { needLimiter, type Settings } from './options.js'
import { Recorder, type EventName } from './recorder.js'
import type { Watched } from './watchlist.js'

/** Stops what `instrument` or `instrumentAll` began. */
export interface Instrumentation {
  /** Stops recording. Recorded values stay until nothing else records to the same meter or registry. */
  stop(): void
}

/** Turns a message from an event's channel back into the event's arguments. */
const READERS: {
  readonly [Name in EventName]: (message: Message) => LimiterEvents[Name]
} = {
  decision: ({ decision }) => [decision],
  storeError: ({ error, requests }) => [error, requests],
  storeCall: (call) => [call],
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
  Events['storeCall'][0] &
  Events['reconciliation'][0] &
  Events['rule'][0] &
  Events['shed'][0] &
  Events['blocked'][0] &
  Events['nearLimit'][0] &
  Events['booked'][0]

const NAMES = Object.keys(READERS) as EventName[]

/** The name that a limiter without one has in metrics. */
const UNNAMED = 'default'

/** Where to record, and with which settings. */
export interface Target {
  readonly settings: Settings
  readonly collector: Collector
}

/** @throws {ConfigError} when it is not a limiter, or its metrics cannot be registered */
export function recordOne(limiter: Limiter, { settings, collector }: Target): Instrumentation {
  needLimiter(limiter)
  const recording = new Recording(settings, collector, false)
  const recorder = recording.recorderOf(limiter)
  const undo = NAMES.map((name) => listen(limiter, name, recorder, collector))
  return stoppable(recording, undo)
}

/** @throws {ConfigError} when the metrics cannot be registered */
export function recordAll({ settings, collector }: Target): Instrumentation {
  const recording = new Recording(settings, collector, true)
  const undo = NAMES.map((name) => subscribeTo(name, recording, collector))
  return stoppable(recording, undo)
}

function listen<Name extends EventName>(
  limiter: Limiter,
  name: Name,
  recorder: Recorder,
  collector: Collector,
): () => void {
  const listener = (...args: LimiterEvents[Name]): void =>
    collector.attempt(() => recorder.record(name, args))
  limiter.on(name, listener)
  // Weak, so that whoever keeps `stop` does not keep the limiter. For the same reason no function here uses `limiter`.
  const ref = new WeakRef(limiter)
  return () => void ref.deref()?.off(name, listener)
}

function subscribeTo(name: EventName, recording: Recording, collector: Collector): () => void {
  const channel = channelFor(name)
  const read = READERS[name]
  const listener = (given: unknown): void =>
    collector.attempt(() => {
      const message = given as Message
      recording.recorderOf(message.limiter).record(name, read(message))
    })
  subscribe(channel, listener)
  return () => void unsubscribe(channel, listener)
}

function stoppable(recording: Recording, undo: readonly (() => void)[]): Instrumentation {
  return {
    stop: () => {
      for (const off of undo) off()
      recording.end()
    },
  }
}

/** What one call of `instrument` or `instrumentAll` records. */
class Recording {
  readonly #settings: Settings
  readonly #collector: Collector
  readonly #forgetsClosed: boolean
  readonly #recorders = new WeakMap<Limiter, Recorder>()
  #isOver = false

  constructor(settings: Settings, collector: Collector, forgetsClosed: boolean) {
    this.#settings = settings
    this.#collector = collector
    this.#forgetsClosed = forgetsClosed
    collector.enter()
  }

  /** @throws {ConfigError} when it is not a limiter */
  recorderOf(limiter: Limiter): Recorder {
    const known = this.#recorders.get(limiter)
    if (known) return known
    needLimiter(limiter)
    const attributes = {
      ...this.#settings.attributes,
      [ATTRIBUTES.limiter]: internalsOf(limiter).name ?? UNNAMED,
    }
    const watched: Watched = {
      limiter: new WeakRef(limiter),
      owner: this,
      attributes,
      series: JSON.stringify(attributes),
      forgetsClosed: this.#forgetsClosed,
      breakers: new Map(),
      leases: limiter.stats().leases,
      isOn: false,
    }
    const recorder = new Recorder({ ...this.#settings, attributes }, this.#collector, watched)
    this.#recorders.set(limiter, recorder)
    this.#collector.watchlist.add(watched)
    this.#collector.attempt(() => recorder.startAtZero(limiter))
    return recorder
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#collector.leave(this)
  }
}
