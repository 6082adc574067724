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
  /** All points of a metric, as of now; in the order of what they are told apart by. */
  points(name: string): Promise<Point[]>
  /** The value of the points that have these attributes, summed up. */
  sum(name: string, attributes?: Attributes): Promise<number>
  all(): Promise<ResourceMetrics['scopeMetrics']>
  close(): Promise<void>
}

/** The OpenTelemetry SDK, with what it has collected in reach. */
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
        dataPoints.map(({ attributes, value }): Point => [attributes, value as number]),
      )
      .toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)))
  return {
    provider,
    all,
    points,
    sum: async (name, wanted = {}) =>
      (await points(name))
        .filter(([attributes]) => Object.entries(wanted).every(([key, value]) => attributes[key] === value))
        .reduce((sum, [, value]) => sum + value, 0),
    close: () => provider.shutdown(),
  }
}
