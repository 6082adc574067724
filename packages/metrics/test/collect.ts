import type { Attributes } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics'

export type Point = readonly [attributes: Attributes, value: number]

export interface Collected {
  readonly provider: MeterProvider
  /** All current points of a metric, sorted by their attributes. The name of a limiter without a name is left out. */
  points(name: string): Promise<Point[]>
  /** Those of them that do not stand at 0, where counters begin. */
  counted(name: string): Promise<Point[]>
  /** The sum over all points with these attributes. */
  sum(name: string, attributes?: Attributes): Promise<number>
  all(): Promise<ResourceMetrics['scopeMetrics']>
  close(): Promise<void>
}

/** The OpenTelemetry SDK, with access to what it collects. */
export function collect(temporality = AggregationTemporality.CUMULATIVE): Collected {
  const exporter = new InMemoryMetricExporter(temporality)
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 600_000,
    exportTimeoutMillis: 10_000,
  })
  const provider = new MeterProvider({ readers: [reader] })
  const all = async (): Promise<ResourceMetrics['scopeMetrics']> => {
    exporter.reset()
    await provider.forceFlush()
    return exporter.getMetrics()[0]?.scopeMetrics ?? []
  }
  const points = async (name: string): Promise<Point[]> =>
    (await all())
      .flatMap(({ metrics }) => metrics)
      .filter(({ descriptor }) => descriptor.name === name)
      .flatMap(({ dataPoints }) =>
        dataPoints.map(({ attributes, value }): Point => [withoutDefaultName(attributes), value as number]),
      )
      .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
  return {
    provider,
    all,
    points,
    counted: async (name) => (await points(name)).filter(([, value]) => value !== 0),
    sum: async (name, wanted = {}) =>
      (await points(name))
        .filter(([attributes]) => Object.entries(wanted).every(([key, value]) => attributes[key] === value))
        .reduce((sum, [, value]) => sum + value, 0),
    close: () => provider.shutdown(),
  }
}

function withoutDefaultName({ 'tollgate.limiter.name': name, ...others }: Attributes): Attributes {
  return name === 'default' ? others : { 'tollgate.limiter.name': name, ...others }
}
