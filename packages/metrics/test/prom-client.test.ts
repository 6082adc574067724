// A registry of prom-client gets the same series as OpenTelemetry's exporter for Prometheus.
import { channel } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { createLimiter, type Limiter, type LimiterEvents, type LimiterStats } from '@tollgate/core'
import { channelFor, internalsOf } from '@tollgate/core/adapter'
import { Counter, Registry, register } from 'prom-client'
import { instrumentAll as instrumentAllWithOtel } from '../src/index.js'
import { METRICS } from '../src/instruments.js'
import {
  instrument,
  instrumentAll,
  type Instrumentation,
  type InstrumentOptions,
} from '../src/prom-client.js'
import { samplesIn, type Sample } from './exposition.ts'

let registry: Registry
let limiters: Limiter[]
let begun: Instrumentation[]
beforeEach(() => {
  registry = new Registry()
  limiters = []
  begun = []
})
afterEach(async () => {
  for (const { stop } of begun) stop()
  await Promise.all(limiters.map((limiter) => limiter.close()))
})

function named(name?: string): Limiter {
  const limiter = createLimiter({ plans: { free: ['3/min', '9 concurrent'] }, name, warnings: false })
  limiters.push(limiter)
  return limiter
}

const start = (limiter: Limiter, options: InstrumentOptions = { registry }): Instrumentation => {
  const instrumentation = instrument(limiter, options)
  begun.push(instrumentation)
  return instrumentation
}

async function sum(name: string, labels: Record<string, string> = {}, from = registry): Promise<number> {
  return samplesIn(await from.metrics())
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value))
    .reduce((all, { value }) => all + value, 0)
}

const of = (name: string): Record<string, string> => ({ tollgate_limiter_name: name })

async function scrape(exporter: PrometheusExporter): Promise<string> {
  return new Promise((resolve) => {
    const response = { setHeader: () => {}, end: resolve, statusCode: 0 }
    exporter.getMetricsRequestHandler({} as never, response as unknown as ServerResponse)
  })
}

/** Has every event of a limiter, so that every metric has a series. */
async function emitAll(limiter: Limiter): Promise<void> {
  const emit = <Name extends keyof LimiterEvents>(name: Name, message: object): void =>
    channel(channelFor(name)).publish({ limiter, ...message })
  const decision = await limiter.consume({ id: 'acme', plan: 'free' })
  for (let i = 0; i < 5; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
  const observed = [{ name: 'minute', wouldDeny: true }]
  const limits = [{ ...decision.limits[0], over: 2 }]
  emit('decision', {
    decision: { ...decision, cost: 7, observed, limits, source: 'place', waitedMs: 1234.5 },
  })
  const error = { reason: 'timeout' }
  emit('fallback', { decision: { ...decision, source: 'local' }, error })
  emit('storeError', { error, requests: 3 })
  for (const durationMs of [0.05, 0.3, 42.5, 2500]) emit('storeCall', { shard: 0, durationMs })
  emit('storeCall', { shard: 5, durationMs: 50, error })
  emit('breaker', { state: 'open', shard: 5 })
  emit('reconciliation', { units: 3, dropped: 1 })
  emit('evicted', { subjects: 2 })
  emit('rule', { action: 'set', rule: { kind: 'scale' }, isOwn: true })
  for (const plan of ['free', 'a "quoted"\\ plan']) emit('shed', { plan })
  for (const plan of ['free', undefined]) emit('blocked', { plan })
  emit('nearLimit', { plan: 'free', limit: 'minute', share: 0.8 })
  emit('booked', { kind: 'topUp', plan: 'free', limit: 'minute' })
  emit('planError', { error, subject: { id: 'acme' } })
  emit('unknownPlan', { subject: { id: 'acme' }, used: 'free' })
  internalsOf(limiter).shed({ subject: { id: 'acme' }, plan: 'free', inFlight: 1, limit: 1, delayMs: 0 })
}

/** A limiter whose leases changed since it was made. */
function withLeases(limiter: Limiter): Limiter {
  const stats = limiter.stats.bind(limiter)
  let looks = 0
  jest.spyOn(limiter, 'stats').mockImplementation((): LimiterStats => {
    // Each of the two recorders looks once at its beginning.
    looks += 1
    const units = looks > 2 ? 10 : 0
    const leases = { ...stats().leases, units, used: units / 2, renewals: units / 10, held: 1 }
    return { ...stats(), leases }
  })
  return limiter
}

const toText = ({ name, labels, value }: Sample): string => {
  const own = Object.entries(labels).filter(([label]) => !label.startsWith('otel_scope_'))
  return `${name}${JSON.stringify(Object.fromEntries(own.toSorted(([a], [b]) => (a < b ? -1 : 1))))} ${value}`
}

test('all names, labels, types and values are those of the exporter of OpenTelemetry', async () => {
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const meterProvider = new MeterProvider({ readers: [exporter] })
  begun.push(
    instrumentAll({ registry, subjectAttribute: true }),
    instrumentAllWithOtel({ meterProvider, subjectAttribute: true }),
  )
  await emitAll(withLeases(named('api')))
  await emitAll(named())
  const [ours, theirs] = [await registry.metrics(), await scrape(exporter)]
  const expected = samplesIn(theirs).filter(({ name }) => name.startsWith('tollgate_'))
  expect(samplesIn(ours).map(toText).toSorted()).toEqual(expected.map(toText).toSorted())

  const types = (text: string): string[] => (text.match(/^# TYPE tollgate_.*$/gm) ?? []).toSorted()
  expect(types(ours)).toEqual(types(theirs))
  expect(types(ours).length).toBe(Object.keys(METRICS).length)
  const help = (text: string): string[] => (text.match(/^# HELP tollgate_.*$/gm) ?? []).toSorted()
  expect(help(ours)).toEqual(help(theirs))
  await meterProvider.shutdown()
})

test('two limiters in one registry have their own series, and those with one name are summed', async () => {
  const [api, twin, jobs] = [named('api'), named('api'), named('jobs')]
  for (const limiter of limiters) start(limiter)
  for (const limiter of [api, api, twin, jobs]) await limiter.consume('acme')
  const ok = { tollgate_limiter_state: 'ok' }
  for (const name of ['tollgate_decisions_total', 'tollgate_request_inflight'])
    expect([await sum(name, of('api')), await sum(name, of('jobs'))]).toEqual([3, 1])
  expect([
    await sum('tollgate_limiter_status', { ...of('api'), ...ok }),
    await sum('tollgate_limiter_status', { ...of('jobs'), ...ok }),
  ]).toEqual([2, 1])
})

test('stop unregisters what nobody else uses', async () => {
  const [api, jobs] = [named('api'), named('jobs')]
  const own = new Counter({ name: 'shop_orders_total', help: 'Orders.', registers: [registry] })
  const instrumentations = [start(api), start(jobs)]
  await jobs.consume('acme')
  instrumentations[0]?.stop()
  instrumentations[0]?.stop()
  expect(await sum('tollgate_decisions_total')).toBe(1)
  expect(await sum('tollgate_request_inflight', of('jobs'))).toBe(1)
  expect(
    samplesIn(await registry.metrics()).some(({ name, labels }) => {
      return name === 'tollgate_limiter_status' && labels['tollgate_limiter_name'] === 'api'
    }),
  ).toBe(false)
  instrumentations[1]?.stop()
  expect(registry.getMetricsAsArray()).toEqual([own])
  start(api)
  await api.consume('acme')
  expect(await sum('tollgate_decisions_total')).toBe(1)
})

test('a closed limiter of instrumentAll is reported once more, and then no longer', async () => {
  begun.push(instrumentAll({ registry }))
  const limiter = named('api')
  await limiter.consume('acme')
  await limiter.close()
  const statuses = async (): Promise<number> =>
    samplesIn(await registry.metrics()).filter(({ name }) => name === 'tollgate_limiter_status').length
  expect([await statuses(), await statuses()]).toEqual([3, 0])
  expect(await sum('tollgate_decisions_total', of('api'))).toBe(1)
})

test('a value is of the scrape, also when several come in one turn of the event loop', async () => {
  const limiter = named()
  start(limiter)
  const seen = []
  for (let i = 0; i < 3; i += 1) {
    await limiter.consume('acme')
    seen.push(await sum('tollgate_decisions_total'), await sum('tollgate_request_inflight'))
  }
  expect(seen).toEqual([1, 1, 2, 2, 3, 3])
})

test("without the option, the global registry of prom-client gets them, with prom-client's default labels", async () => {
  register.setDefaultLabels({ service: 'shop' })
  const limiter = named()
  start(limiter, {})
  await limiter.consume('acme')
  expect(await sum('tollgate_decisions_total', { service: 'shop' }, register)).toBe(1)
  register.clear()
})

test('a registry that was cleared gets the metrics again', async () => {
  const limiter = named()
  start(limiter)
  registry.clear()
  start(limiter)
  await limiter.consume('acme')
  expect(await sum('tollgate_decisions_total')).toBeGreaterThan(0)
})

test('subjects are a label on request', async () => {
  const limiter = named()
  start(limiter, { registry, subjectAttribute: true })
  for (const id of ['acme', 'acme', 'globex']) await limiter.consume(id)
  expect(await sum('tollgate_decisions_total', { tollgate_subject_id: 'acme' })).toBe(2)
})

describe('a mistake is a ConfigError at once', () => {
  const refuses = (path: string): Error =>
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path }) as Error

  test.each<[string, unknown, string]>([
    ['an option of OpenTelemetry', { meterProvider: {} }, 'meterProvider'],
    ['labels', { attributes: { a: 'b' } }, 'attributes'],
    ['no options', null, 'options'],
    ['a registry that is none', { registry: {} }, 'registry'],
    ['a subject attribute that is a name', { subjectAttribute: 'id' }, 'subjectAttribute'],
  ])('%s', (_, options, path) => {
    expect(() => instrument(named(), options as InstrumentOptions)).toThrow(refuses(path))
    expect(() => instrumentAll(options as InstrumentOptions)).toThrow(refuses(path))
  })

  test('no limiter', () => {
    expect(() => instrument({} as Limiter, { registry })).toThrow(refuses('limiter'))
    expect(registry.getMetricsAsArray()).toEqual([])
  })

  test('a registry that has another metric with a name of these, which then gets none', () => {
    const other = new Counter({ name: 'tollgate_store_errors_total', help: 'Other.', registers: [registry] })
    expect(() => instrument(named(), { registry })).toThrow(refuses('registry'))
    expect(() => instrument(named(), { registry })).toThrow(
      /tollgate_store_errors_total: pass another registry/,
    )
    expect(registry.getMetricsAsArray()).toEqual([other])
  })
})
