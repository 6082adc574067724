import { metrics, type Attributes, type Meter, type MeterProvider } from '@opentelemetry/api'
import { ConfigError, type Limiter, type Subject } from '@tollgate/core'
import { ATTRIBUTES } from './instruments.js'

/**
 * Gives the value of the attribute `tollgate.subject.id` for a subject, or undefined for no attribute. It is called at
 * every decision, so it should be fast.
 */
export type SubjectAttribute = (subject: Subject) => string | undefined

export interface InstrumentOptions {
  /** Default: the global provider at the time of this call. So start the OpenTelemetry SDK before. */
  readonly meterProvider?: MeterProvider
  /** The meter that makes the instruments, in place of `meterProvider`. */
  readonly meter?: Meter
  /** Attributes of all metrics, such as `{ 'tollgate.limiter.name': 'api' }` when there are several limiters. */
  readonly attributes?: Attributes
  /**
   * Adds the subject to decisions as the attribute `tollgate.subject.id`. Every subject becomes a time series of its
   * own in several metrics, so use this only for few subjects. `true` takes the subject's id, but no client addresses.
   * A function gives the value, or undefined for no attribute: for example a value for the largest customers only.
   * Default: false.
   */
  readonly subjectAttribute?: boolean | SubjectAttribute
}

export interface Settings {
  readonly meter: Meter
  readonly attributes: Attributes
  readonly subjectOf: SubjectAttribute | undefined
}

const NAME = '@tollgate/metrics'
/** The version of this package. A test compares it with package.json. */
export const VERSION = '0.1.0'
const OPTIONS = ['meterProvider', 'meter', 'attributes', 'subjectAttribute']

/** @throws {ConfigError} when an option is wrong */
export function readOptions(options: InstrumentOptions): Settings {
  if (!isPlainObject(options))
    throw ConfigError.wrong('options', options, `an object of options: ${OPTIONS.join(', ')}`)
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) {
    throw ConfigError.wrong(unknown, unknown, `an option that there is: ${OPTIONS.join(', ')}`)
  }
  const { attributes = {}, subjectAttribute = false } = options
  checkAttributes(attributes)
  return {
    meter: readMeter(options),
    attributes: { ...attributes },
    subjectOf: readSubjectAttribute(subjectAttribute),
  }
}

/** @throws {ConfigError} when `given` is no limiter */
export function needLimiter(given: unknown): asserts given is Limiter {
  if (hasMethods(given, ['on', 'off', 'stats', 'health'])) return
  throw ConfigError.wrong(
    'limiter',
    given,
    'what createLimiter returned, or rateLimit(...).limiter of an adapter',
  )
}

function readMeter({ meterProvider, meter }: InstrumentOptions): Meter {
  if (meter === undefined) {
    const provider = meterProvider ?? metrics
    if (hasMethods(provider, ['getMeter'])) return provider.getMeter(NAME, VERSION)
    throw ConfigError.wrong('meterProvider', provider, 'a MeterProvider of OpenTelemetry')
  }
  if (meterProvider !== undefined)
    throw ConfigError.wrong('meter', meter, 'none where there is a meterProvider')
  if (hasMethods(meter, ['createCounter', 'addBatchObservableCallback'])) return meter
  throw ConfigError.wrong('meter', meter, 'a Meter of OpenTelemetry')
}

function checkAttributes(attributes: Attributes): void {
  if (!isPlainObject(attributes)) {
    throw ConfigError.wrong('attributes', attributes, "an object, such as { 'tollgate.limiter.name': 'api' }")
  }
  const own: readonly string[] = Object.values(ATTRIBUTES)
  for (const [name, value] of Object.entries(attributes)) {
    const path = `attributes[${JSON.stringify(name)}]`
    if (own.includes(name)) throw ConfigError.wrong(path, value, 'a name that Tollgate does not set itself')
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))) continue
    throw ConfigError.wrong(path, value, 'text, a number, true or false, or an array of those')
  }
}

function readSubjectAttribute(given: boolean | SubjectAttribute): SubjectAttribute | undefined {
  if (typeof given === 'function') return given
  if (given === true) return idOf
  if (given === false) return undefined
  throw ConfigError.wrong('subjectAttribute', given, 'true, false, or a function that gives text or nothing')
}

/** Leaves client addresses out: their number is not bounded, and they are personal data. */
function idOf({ id, kind }: Subject): string | undefined {
  return kind === 'ip' ? undefined : String(id)
}

function hasMethods(given: unknown, names: readonly string[]): boolean {
  const object = (given ?? {}) as Record<string, unknown>
  return names.every((name) => typeof object[name] === 'function')
}

function isPlainObject(given: unknown): boolean {
  return Object.prototype.toString.call(given) === '[object Object]'
}
