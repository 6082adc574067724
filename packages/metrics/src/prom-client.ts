import { ConfigError, type Limiter } from '@tollgate/core'
import { atCaller } from '@tollgate/core/adapter'
import { Counter, Gauge, Histogram, register, type Metric, type Registry } from 'prom-client'
import { collectorFor } from './collector.js'
import {
  ATTRIBUTES,
  makeEach,
  METRICS,
  type Attributes,
  type CounterKey,
  type GaugeKey,
  type HistogramKey,
  type MetricKey,
  type Observe,
  type Sink,
} from './instruments.js'
import { checkOptions, hasMethods, readSubjectAttribute, type SubjectAttribute } from './options.js'
import { recordAll, recordOne, type Instrumentation, type Target } from './recording.js'

export type { SubjectAttribute } from './options.js'
export type { Instrumentation } from './recording.js'

/**
 * Records what a limiter does in a registry of prom-client: decisions, denials by limit, store errors and more. Names and labels are
 * those of OpenTelemetry's exporter for Prometheus. All series have the limiter's option `name` as the label
 * `tollgate_limiter_name`, or `default` if it has none.
 *
 * @param limiter from `createLimiter`, or `rateLimit(...).limiter`
 * @throws {ConfigError} when it is not a limiter, an option is wrong, or the registry has other metrics with these names
 * @example
 * import { register } from 'prom-client'
 * const { stop } = instrument(limiter, { registry: register })
 */
export function instrument(limiter: Limiter, options: InstrumentOptions = {}): Instrumentation {
  return atCaller(instrument, () => recordOne(limiter, readOptions(options)))
}

/**
 * Records what all limiters in this process do in a registry of prom-client, including those that adapters create. A limiter is
 * included from its first event on. If you also call `instrument` for a limiter, both record it.
 *
 * @throws {ConfigError} when an option is wrong, or the registry has other metrics with these names
 */
export function instrumentAll(options: InstrumentOptions = {}): Instrumentation {
  return atCaller(instrumentAll, () => recordAll(readOptions(options)))
}

/** The options of `instrument` and `instrumentAll`. */
export interface InstrumentOptions {
  /** The registry of prom-client that gets the metrics. Default: prom-client's global `register`. */
  readonly registry?: Registry | undefined
  /**
   * Adds the subject that pays to decisions, as the label `tollgate_subject_id`. Each subject becomes a time series in several
   * metrics, so use this only for few subjects. `true`: the subject's id, but no client addresses. A function: the value that it
   * returns, or none, for example only for the largest customers. Default: false.
   */
  readonly subjectAttribute?: boolean | SubjectAttribute | undefined
}

/** @throws {ConfigError} when an option is wrong */
function readOptions(options: InstrumentOptions): Target {
  checkOptions(options, ['registry', 'subjectAttribute'], '{ registry }')
  const { registry = register, subjectAttribute = false } = options
  if (!hasMethods(registry, ['registerMetric', 'getSingleMetric', 'removeSingleMetric']))
    throw ConfigError.wrong('registry', registry, 'a Registry of prom-client, such as new Registry()')
  return {
    settings: { attributes: {}, subjectOf: readSubjectAttribute(subjectAttribute) },
    collector: collectorFor(registry, () => new RegistrySink(registry)),
  }
}

type Labels = Record<string, string | number>

interface Registered {
  readonly counters: Readonly<Record<CounterKey, Counter>>
  readonly histograms: Readonly<Record<HistogramKey, Histogram>>
  readonly gauges: Readonly<Record<GaugeKey, Gauge>>
}

/** Records with metrics in a registry of prom-client. */
class RegistrySink implements Sink {
  readonly #registry: Registry
  /** Made once for each set of attributes. */
  readonly #labels = new WeakMap<Attributes, Labels>()
  #metrics: Registered | undefined
  #collect: (observe: Observe) => void = () => {}
  /** Whether this collection has read the current values already. prom-client asks each metric by itself, all in the same step. */
  #isRead = false

  constructor(registry: Registry) {
    this.#registry = registry
  }

  add(counter: CounterKey, value: number, attributes: Attributes): void {
    this.#metrics?.counters[counter].inc(this.#labelsOf(attributes), value)
  }

  record(histogram: HistogramKey, value: number, attributes: Attributes): void {
    this.#metrics?.histograms[histogram].observe(this.#labelsOf(attributes), value)
  }

  open(collect: (observe: Observe) => void): void {
    this.#collect = collect
    this.#metrics ??= this.#create()
    for (const [key, metric] of entriesOf(this.#metrics)) this.#register(nameOf(key), metric)
  }

  /** What is registered with one of these names may be of somebody else, if the registry was cleared. */
  close(): void {
    for (const [key, metric] of this.#metrics ? entriesOf(this.#metrics) : []) {
      if (this.#registry.getSingleMetric(nameOf(key)) === metric)
        this.#registry.removeSingleMetric(nameOf(key))
    }
    this.#metrics = undefined
  }

  #create(): Registered {
    const collect = (): void => this.#read()
    const common = (key: MetricKey): { name: string; help: string; labelNames: string[]; registers: [] } => {
      const { description, attributes } = METRICS[key]
      const labelNames = (['limiter', ...attributes] as const).map((one) => labelFor(ATTRIBUTES[one]))
      return { name: nameOf(key), help: description, labelNames, registers: [] }
    }
    return {
      counters: makeEach('counter', (key) => new Counter({ ...common(key), collect })),
      histograms: makeEach('histogram', (key) => {
        return new Histogram({ ...common(key), collect, buckets: [...METRICS[key].boundaries] })
      }),
      gauges: makeEach('gauge', (key) => new Gauge({ ...common(key), collect })),
    }
  }

  #register(name: string, metric: Metric): void {
    const there = this.#registry.getSingleMetric(name)
    if (there === metric) return
    if (there) {
      this.close()
      const remedy = 'pass another registry, or remove that metric'
      throw new ConfigError('registry', `it already has another metric with the name ${name}: ${remedy}`)
    }
    this.#registry.registerMetric(metric)
  }

  #read(): void {
    if (this.#isRead) return
    this.#isRead = true
    queueMicrotask(() => (this.#isRead = false))
    const gauges = this.#metrics?.gauges
    // Series of limiters that are gone must end.
    for (const gauge of Object.values(gauges ?? {})) gauge.reset()
    this.#collect((key, value, attributes) => gauges?.[key].set(this.#labelsOf(attributes), value))
  }

  #labelsOf(attributes: Attributes): Labels {
    const known = this.#labels.get(attributes)
    if (known) return known
    const labels = Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [labelFor(name), value as string | number]),
    )
    this.#labels.set(attributes, labels)
    return labels
  }
}

function entriesOf({ counters, histograms, gauges }: Registered): [MetricKey, Metric][] {
  return Object.entries({ ...counters, ...histograms, ...gauges }) as [MetricKey, Metric][]
}

function nameOf(key: MetricKey): string {
  const { name, kind } = METRICS[key]
  return labelFor(name) + (kind === 'counter' ? '_total' : '')
}

function labelFor(name: string): string {
  return name.replaceAll('.', '_')
}
