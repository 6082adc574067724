import {
  metrics,
  ROOT_CONTEXT,
  type Attributes as OtelAttributes,
  type BatchObservableResult,
  type Counter,
  type Histogram,
  type Meter,
  type MeterProvider,
  type ObservableUpDownCounter,
} from '@opentelemetry/api'
import { ConfigError, type Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import { collectorFor } from './collector.js'
import {
  ATTRIBUTES,
  makeEach,
  METRICS,
  type Attributes,
  type CounterKey,
  type GaugeKey,
  type HistogramKey,
  type Observe,
  type Sink,
} from './instruments.js'
import {
  checkOptions,
  hasMethods,
  isPlainObject,
  NAME,
  nameOf,
  readSubjectAttribute,
  VERSION,
  type SubjectAttribute,
} from './options.js'
import { recordAll, recordOne, type Instrumentation, type Target } from './recording.js'

export type { SubjectAttribute } from './options.js'
export type { Instrumentation } from './recording.js'

/**
 * Records what a limiter does as OpenTelemetry metrics: decisions, denials by limit, store errors and more. All of them have the
 * limiter's option `name` as the attribute `tollgate.limiter.name`, or `default` if it has none.
 *
 * @param limiter from `createLimiter`, or `rateLimit(...).limiter`
 * @throws {ConfigError} when it is not a limiter, or an option is wrong
 * @example
 * const { stop } = instrument(limiter, { meterProvider })
 */
export function instrument(limiter: Limiter, options: InstrumentOptions = {}): Instrumentation {
  return atCaller(instrument, () => recordOne(limiter, readOptions(options)))
}

/**
 * Records what all limiters in this process do as OpenTelemetry metrics, including those that adapters create. A limiter is
 * included from its first event on. If you also call `instrument` for a limiter, both record it.
 *
 * @throws {ConfigError} when an option is wrong
 */
export function instrumentAll(options: InstrumentOptions = {}): Instrumentation {
  return atCaller(instrumentAll, () => recordAll(readOptions(options)))
}

/** The options of `instrument` and `instrumentAll`. */
export interface InstrumentOptions {
  /**
   * Where the meter comes from. Default: OpenTelemetry's global provider at the time of this call, so start the OpenTelemetry SDK
   * first.
   */
  readonly meterProvider?: MeterProvider | undefined
  /** The meter that creates the instruments, instead of a provider. */
  readonly meter?: Meter | undefined
  /** Attributes for everything that is recorded, such as `{ 'service.namespace': 'shop' }`. */
  readonly attributes?: OtelAttributes | undefined
  /**
   * Adds the subject that pays to decisions, as the attribute `tollgate.subject.id`. Each subject becomes a time series in several
   * metrics, so use this only for few subjects. `true`: the subject's id, but no client addresses. A function: the value that it
   * returns, or none, for example only for the largest customers. Default: false.
   */
  readonly subjectAttribute?: boolean | SubjectAttribute | undefined
}

const OPTIONS = ['meterProvider', 'meter', 'attributes', 'subjectAttribute']

/** @throws {ConfigError} when an option is wrong */
function readOptions(options: InstrumentOptions): Target {
  checkOptions(options, OPTIONS, '{ meterProvider }')
  const { attributes = {}, subjectAttribute = false } = options
  checkAttributes(attributes)
  const meter = readMeter(options)
  return {
    settings: {
      attributes: { ...attributes } as Attributes,
      subjectOf: readSubjectAttribute(subjectAttribute),
    },
    collector: collectorFor(meter, () => new MeterSink(meter)),
  }
}

function readMeter({ meterProvider, meter }: InstrumentOptions): Meter {
  if (meter === undefined) {
    const provider = meterProvider ?? metrics
    if (hasMethods(provider, ['getMeter'])) return provider.getMeter(NAME, VERSION)
    throw ConfigError.wrong(
      'meterProvider',
      provider,
      'a MeterProvider of OpenTelemetry, such as new MeterProvider({ readers })',
    )
  }
  if (meterProvider !== undefined)
    throw new ConfigError('meter', '`meter` cannot be combined with `meterProvider`: pass only one of them')
  if (hasMethods(meter, ['createCounter', 'createHistogram', 'addBatchObservableCallback'])) return meter
  throw ConfigError.wrong('meter', meter, "a Meter of OpenTelemetry: meterProvider.getMeter('api')")
}

function checkAttributes(attributes: OtelAttributes): void {
  if (!isPlainObject(attributes)) {
    throw ConfigError.wrong('attributes', attributes, "an object, such as { 'service.namespace': 'shop' }")
  }
  const own: readonly string[] = Object.values(ATTRIBUTES)
  for (const [name, value] of Object.entries(attributes)) {
    const path = `attributes[${JSON.stringify(nameOf(name))}]`
    if (name === ATTRIBUTES.limiter) {
      const remedy = "give the limiter a name: createLimiter({ name: 'api', ... })"
      throw new ConfigError(path, `Tollgate sets it to the limiter's option name: ${remedy}`)
    }
    if (own.includes(name))
      throw new ConfigError(path, "Tollgate sets it itself: choose another name, such as 'service.namespace'")
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))) continue
    throw ConfigError.wrong(path, value, "a string, number or boolean, or an array of these, such as 'shop'")
  }
}

/** Records with the instruments of an OpenTelemetry meter. */
class MeterSink implements Sink {
  readonly #meter: Meter
  readonly #counters: Readonly<Record<CounterKey, Counter>>
  readonly #histograms: Readonly<Record<HistogramKey, Histogram>>
  readonly #gauges: Readonly<Record<GaugeKey, ObservableUpDownCounter>>
  /** Every series of a gauge that had a value. */
  readonly #observed = new Map<string, readonly [GaugeKey, Attributes]>()
  #collect: ((observe: Observe) => void) | undefined

  constructor(meter: Meter) {
    this.#meter = meter
    this.#counters = makeEach('counter', (key) => {
      const { name, unit, description } = METRICS[key]
      return meter.createCounter(name, { unit, description })
    })
    this.#histograms = makeEach('histogram', (key) => {
      const { name, unit, description, boundaries } = METRICS[key]
      return meter.createHistogram(name, {
        ...{ unit, description },
        advice: { explicitBucketBoundaries: [...boundaries] },
      })
    })
    this.#gauges = makeEach('gauge', (key) => {
      const { name, unit, description } = METRICS[key]
      return meter.createObservableUpDownCounter(name, { unit, description })
    })
  }

  // The root context, since a sum belongs to many requests.
  add(counter: CounterKey, value: number, attributes: Attributes): void {
    this.#counters[counter].add(value, attributes as OtelAttributes, ROOT_CONTEXT)
  }

  record(histogram: HistogramKey, value: number, attributes: Attributes): void {
    this.#histograms[histogram].record(value, attributes as OtelAttributes, ROOT_CONTEXT)
  }

  open(collect: (observe: Observe) => void): void {
    if (!this.#collect) this.#meter.addBatchObservableCallback(this.#observe, Object.values(this.#gauges))
    this.#collect = collect
  }

  close(): void {
    this.#collect = undefined
    this.#meter.removeBatchObservableCallback(this.#observe, Object.values(this.#gauges))
  }

  /** A series that is no longer observed is 0, since the SDK would export its last value for ever. */
  readonly #observe = (result: BatchObservableResult): void => {
    const now = new Set<string>()
    this.#collect?.((gauge, value, attributes) => {
      const series = `${gauge} ${JSON.stringify(attributes)}`
      now.add(series)
      this.#observed.set(series, [gauge, attributes])
      result.observe(this.#gauges[gauge], value, attributes as OtelAttributes)
    })
    for (const [series, [gauge, attributes]] of this.#observed)
      if (!now.has(series)) result.observe(this.#gauges[gauge], 0, attributes as OtelAttributes)
  }
}
