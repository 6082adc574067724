import { metrics, type Attributes, type Meter, type MeterProvider } from '@opentelemetry/api'
import { ConfigError, type Limiter, type Subject } from '@tollgate/core'
import { ATTRIBUTES } from './instruments.js'

/** Returns the attribute `tollgate.subject.id` for the subject that pays, or undefined for none. Called for every decision. */
export type SubjectAttribute = (subject: Subject) => string | undefined

/** The options of `instrument` and `instrumentAll`. */
export interface InstrumentOptions {
  /**
   * Where the meter comes from. Default: OpenTelemetry's global provider at the time of this call, so start the OpenTelemetry SDK
   * first.
   */
  readonly meterProvider?: MeterProvider | undefined
  /** The meter that creates the instruments, instead of a provider. */
  readonly meter?: Meter | undefined
  /** Attributes for everything that is recorded. They tell several limiters apart: `{ 'tollgate.limiter.name': 'api' }`. */
  readonly attributes?: Attributes | undefined
  /**
   * Adds the subject that pays to decisions, as the attribute `tollgate.subject.id`. Each subject becomes a time series in several
   * metrics, so use this only for few subjects. `true`: the subject's id, but no client addresses. A function: the value that it
   * returns, or none, for example only for the largest customers. Default: false.
   */
  readonly subjectAttribute?: boolean | SubjectAttribute | undefined
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
    throw ConfigError.wrong('options', options, `an object of options, such as { meterProvider }`)
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name))
  if (unknown !== undefined) {
    throw new ConfigError(nameOf(unknown), `there is no such option here; there are ${OPTIONS.join(', ')}`)
  }
  const { attributes = {}, subjectAttribute = false } = options
  checkAttributes(attributes)
  return {
    meter: readMeter(options),
    attributes: { ...attributes },
    subjectOf: readSubjectAttribute(subjectAttribute),
  }
}

/** @throws {ConfigError} when it is not a limiter */
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
    throw ConfigError.wrong(
      'meterProvider',
      provider,
      'a MeterProvider of OpenTelemetry, such as new MeterProvider({ readers })',
    )
  }
  if (meterProvider !== undefined)
    throw new ConfigError('meter', '`meter` cannot be combined with `meterProvider`: pass only one of them')
  if (hasMethods(meter, ['createCounter', 'addBatchObservableCallback'])) return meter
  throw ConfigError.wrong('meter', meter, "a Meter of OpenTelemetry: meterProvider.getMeter('api')")
}

function checkAttributes(attributes: Attributes): void {
  if (!isPlainObject(attributes)) {
    throw ConfigError.wrong('attributes', attributes, "an object, such as { 'tollgate.limiter.name': 'api' }")
  }
  const own: readonly string[] = Object.values(ATTRIBUTES)
  for (const [name, value] of Object.entries(attributes)) {
    const path = `attributes[${JSON.stringify(nameOf(name))}]`
    if (own.includes(name)) {
      throw new ConfigError(path, "Tollgate sets it itself: choose another name, such as 'service.name'")
    }
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (values.every((one) => ['string', 'number', 'boolean'].includes(typeof one))) continue
    throw ConfigError.wrong(path, value, "a string, number or boolean, or an array of these, such as 'api'")
  }
}

function readSubjectAttribute(given: boolean | SubjectAttribute): SubjectAttribute | undefined {
  if (typeof given === 'function') return given
  if (given === true) return idOf
  if (given === false) return undefined
  throw ConfigError.wrong(
    'subjectAttribute',
    given,
    'true, false, or a function that returns a string or undefined: ({ id }) => String(id)',
  )
}

/** The subject's id; none for client addresses, which are many and are personal data. */
function idOf({ id, kind }: Subject): string | undefined {
  return kind === 'ip' ? undefined : String(id)
}

/** A name as error messages show it: in printable ASCII, with at most 64 characters. */
function nameOf(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 64)
}

function hasMethods(given: unknown, names: readonly string[]): boolean {
  const object = (given ?? {}) as Record<string, unknown>
  return names.every((name) => typeof object[name] === 'function')
}

function isPlainObject(given: unknown): boolean {
  return Object.prototype.toString.call(given) === '[object Object]'
}
