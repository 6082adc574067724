// Programs that use @tollgate/metrics as it is published: with OpenTelemetry and with prom-client.
import type { Needs } from './packed-imports.ts'

/** Prints how many of three requests were counted as allowed and denied. */
export const METRICS = `
const main = async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter })
  const meterProvider = new MeterProvider({ readers: [reader] })
  const limiter = createLimiter({ limit: '2/min' })
  const { stop } = instrument(limiter, { meterProvider, attributes: { service: 'api' } })
  for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
  await meterProvider.forceFlush()
  const all = exporter.getMetrics()[0]?.scopeMetrics[0]?.metrics ?? []
  const decisions = all.find(({ descriptor }) => descriptor.name === 'tollgate.decisions')
  const counted = decisions?.dataPoints.filter(({ value }) => value !== 0)
  console.log(counted?.map(({ attributes, value }) => attributes['tollgate.decision.result'] + ' ' + value).join())
  stop()
  await meterProvider.shutdown()
}
void main()
`
export const METRICS_TYPED = `
export const typed = (provider: MeterProvider): Instrumentation =>
  instrumentAll({ meterProvider: provider, subjectAttribute: ({ id }) => (id === 'acme' ? 'acme' : undefined) })
// @ts-expect-error: no middleware
export const wrong = (): Instrumentation => instrument(() => {})
`
export const METRICS_PACKAGES = [
  '@opentelemetry/api@1.9.1',
  '@opentelemetry/sdk-metrics@2.12.0',
  'prom-client@15.1.3',
]
export const USED: Needs = {
  '@opentelemetry/sdk-metrics': [
    'AggregationTemporality',
    'InMemoryMetricExporter',
    'MeterProvider',
    'PeriodicExportingMetricReader',
  ],
  '@tollgate/core': ['createLimiter'],
  '@tollgate/metrics': ['instrument', 'instrumentAll'],
}
/** Prints what a registry of prom-client has of three requests. */
export const PROM_CLIENT = `
const served = async () => {
  const registry = new Registry()
  const limiter = createLimiter({ limit: '2/min', name: 'api' })
  const { stop } = instrument(limiter, { registry })
  for (let i = 0; i < 3; i += 1) await limiter.consume('acme')
  const text = await registry.metrics()
  const decisions = text.split('\\n').filter((line) => line.startsWith('tollgate_decisions_total{') && !line.endsWith(' 0'))
  console.log(decisions.map((line) => line.slice(line.lastIndexOf(' ') + 1)).join(), /tollgate_limiter_name="api"/.test(text))
  stop()
}
void served()
`
export const PROM_CLIENT_USED: Needs = {
  'prom-client': ['Registry'],
  '@tollgate/core': ['createLimiter'],
  '@tollgate/metrics/prom-client': ['instrument'],
}
export const TYPE = `import type { Instrumentation } from '@tollgate/metrics'\n`
