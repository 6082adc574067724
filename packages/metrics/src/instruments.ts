/** The attributes that this package sets. In Prometheus they are labels, with underscores for dots. */
export const ATTRIBUTES = {
  limiter: 'tollgate.limiter.name',
  result: 'tollgate.decision.result',
  source: 'tollgate.decision.source',
  reason: 'tollgate.decision.reason',
  plan: 'tollgate.plan.name',
  subject: 'tollgate.subject.id',
  limit: 'tollgate.limit.name',
  share: 'tollgate.limit.share',
  booking: 'tollgate.booking.kind',
  policy: 'tollgate.failure_policy',
  errorType: 'error.type',
  shard: 'tollgate.store.shard',
  breakerState: 'tollgate.breaker.state',
  limiterState: 'tollgate.limiter.state',
  reconciliation: 'tollgate.reconciliation.result',
  lease: 'tollgate.lease.change',
  ruleAction: 'tollgate.rule.action',
  ruleKind: 'tollgate.rule.kind',
} as const

export type AttributeKey = keyof typeof ATTRIBUTES

interface Metric {
  /** A gauge is a current value, read when metrics are collected. */
  readonly kind: 'counter' | 'gauge' | 'histogram'
  readonly name: string
  /** In braces, it says what is counted, as in OpenTelemetry's conventions. */
  readonly unit: string
  readonly description: string
  /** Those that its series can have, besides the limiter's name. */
  readonly attributes: readonly AttributeKey[]
  /** The upper bounds of a histogram's buckets. */
  readonly boundaries?: readonly number[]
}

/** In seconds. A Redis nearby answers in less than a millisecond, and a deadline is rarely above a second. */
const STORE_SECONDS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1]
/** In seconds. */
const WAIT_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]

/** All metrics. A test compares docs/operations/metrics.md with this table. */
export const METRICS = {
  decisions: {
    kind: 'counter',
    name: 'tollgate.decisions',
    unit: '{decision}',
    description: 'Requests decided, by whatever source.',
    attributes: ['result', 'source', 'plan', 'reason', 'subject'],
  },
  units: {
    kind: 'counter',
    name: 'tollgate.units',
    unit: '{unit}',
    description: 'Quota units that decided requests asked for; those allowed took them.',
    attributes: ['result', 'source', 'plan', 'reason', 'subject'],
  },
  violations: {
    kind: 'counter',
    name: 'tollgate.limit.violations',
    unit: '{violation}',
    description: 'Denials by each limit that had no room.',
    attributes: ['limit', 'plan', 'source', 'subject'],
  },
  observations: {
    kind: 'counter',
    name: 'tollgate.limit.observations',
    unit: '{observation}',
    description: 'Requests that passed, and that each limit which only observes would have denied.',
    attributes: ['limit', 'plan', 'source', 'subject'],
  },
  overage: {
    kind: 'counter',
    name: 'tollgate.limit.overage',
    unit: '{unit}',
    description: 'Units that requests took beyond the quota of each limit with overage.',
    attributes: ['limit', 'plan', 'source', 'subject'],
  },
  warnings: {
    kind: 'counter',
    name: 'tollgate.limit.warnings',
    unit: '{warning}',
    description: 'Times that a subject passed a share of a limit, each counted by one process.',
    attributes: ['plan', 'limit', 'share'],
  },
  bookings: {
    kind: 'counter',
    name: 'tollgate.bookings',
    unit: '{booking}',
    description: 'Top-ups, renewals and penalties, each counted by one process.',
    attributes: ['booking', 'plan', 'limit'],
  },
  blocks: {
    kind: 'counter',
    name: 'tollgate.blocks',
    unit: '{block}',
    description: 'Blocks of subjects that began, because of their denials.',
    attributes: ['plan'],
  },
  shed: {
    kind: 'counter',
    name: 'tollgate.request.shed',
    unit: '{request}',
    description: 'Requests refused because the process was overloaded.',
    attributes: ['plan'],
  },
  waitTime: {
    kind: 'histogram',
    name: 'tollgate.request.wait_time',
    unit: 's',
    description: 'How long requests waited in line.',
    attributes: ['result', 'plan'],
    boundaries: WAIT_SECONDS,
  },
  fallbacks: {
    kind: 'counter',
    name: 'tollgate.fallback.decisions',
    unit: '{decision}',
    description: 'Requests that the failure policy decided.',
    attributes: ['policy', 'result', 'errorType'],
  },
  storeDuration: {
    kind: 'histogram',
    name: 'tollgate.store.duration',
    unit: 's',
    description: 'How long calls of the store took, each for a batch of requests.',
    attributes: ['errorType'],
    boundaries: STORE_SECONDS,
  },
  storeErrors: {
    kind: 'counter',
    name: 'tollgate.store.errors',
    unit: '{error}',
    description: 'Faults of the store, each of a batch of requests.',
    attributes: ['errorType'],
  },
  failedRequests: {
    kind: 'counter',
    name: 'tollgate.store.failed_requests',
    unit: '{request}',
    description: 'Requests that the store should have decided and did not.',
    attributes: ['errorType'],
  },
  breakerChanges: {
    kind: 'counter',
    name: 'tollgate.breaker.changes',
    unit: '{change}',
    description: 'How often the breaker changed to a state.',
    attributes: ['breakerState', 'shard'],
  },
  reconciledUnits: {
    kind: 'counter',
    name: 'tollgate.reconciliation.units',
    unit: '{unit}',
    description:
      'Units admitted without the store: charged to it later, or dropped, since no limit had room.',
    attributes: ['reconciliation'],
  },
  ruleChanges: {
    kind: 'counter',
    name: 'tollgate.rule.changes',
    unit: '{change}',
    description: 'Rules that this process set or lifted, each counted by one process.',
    attributes: ['ruleAction', 'ruleKind'],
  },
  evictions: {
    kind: 'counter',
    name: 'tollgate.store.evictions',
    unit: '{subject}',
    description: 'Subjects that the store forgot while their units still counted.',
    attributes: [],
  },
  leaseUnits: {
    kind: 'counter',
    name: 'tollgate.lease.units',
    unit: '{unit}',
    description: 'Units of leases, by what happened to them.',
    attributes: ['lease'],
  },
  leaseRenewals: {
    kind: 'counter',
    name: 'tollgate.lease.renewals',
    unit: '{lease}',
    description: 'Leases granted to a process that held one of the same subject.',
    attributes: [],
  },
  planErrors: {
    kind: 'counter',
    name: 'tollgate.plan_lookup.errors',
    unit: '{error}',
    description: 'Look-ups of a plan by planOf that failed.',
    attributes: [],
  },
  unknownPlans: {
    kind: 'counter',
    name: 'tollgate.unknown_plan.requests',
    unit: '{request}',
    description:
      'Requests whose subject names a plan that does not exist, or none, by the plan that was used.',
    attributes: ['plan'],
  },
  pending: {
    kind: 'gauge',
    name: 'tollgate.request.pending',
    unit: '{request}',
    description: 'Requests that wait for the store.',
    attributes: [],
  },
  inFlight: {
    kind: 'gauge',
    name: 'tollgate.request.inflight',
    unit: '{request}',
    description: 'Requests in flight that a limit counts.',
    attributes: [],
  },
  waiting: {
    kind: 'gauge',
    name: 'tollgate.request.waiting',
    unit: '{request}',
    description: 'Requests that wait in line.',
    attributes: [],
  },
  leasesHeld: {
    kind: 'gauge',
    name: 'tollgate.lease.held',
    unit: '{lease}',
    description: 'Leases from which requests can be served.',
    attributes: [],
  },
  breakerStatus: {
    kind: 'gauge',
    name: 'tollgate.breaker.status',
    unit: '1',
    description: '1 for the state that the breaker is in, else 0.',
    attributes: ['breakerState', 'shard'],
  },
  limiterStatus: {
    kind: 'gauge',
    name: 'tollgate.limiter.status',
    unit: '1',
    description: '1 for the state that the limiter is in, else 0.',
    attributes: ['limiterState'],
  },
} as const satisfies Readonly<Record<string, Metric>>

type Metrics = typeof METRICS
type OfKind<Kind extends Metric['kind']> = {
  [Key in keyof Metrics]: Metrics[Key]['kind'] extends Kind ? Key : never
}[keyof Metrics]

export type MetricKey = keyof Metrics
export type CounterKey = OfKind<'counter'>
export type HistogramKey = OfKind<'histogram'>
export type GaugeKey = OfKind<'gauge'>

/** Makes something for each metric of a kind. */
export function makeEach<Kind extends Metric['kind'], Made>(
  kind: Kind,
  make: (key: OfKind<Kind>) => Made,
): Readonly<Record<OfKind<Kind>, Made>> {
  const keys = (Object.keys(METRICS) as MetricKey[]).filter((key) => METRICS[key].kind === kind)
  const made = (keys as OfKind<Kind>[]).map((key) => [key, make(key)])
  return Object.fromEntries(made) as Record<OfKind<Kind>, Made>
}

export type Attributes = Readonly<Record<string, AttributeValue>>
type AttributeValue = string | number | boolean | readonly (string | number | boolean | null | undefined)[]

/** Where metrics go: a meter of OpenTelemetry, or a registry of prom-client. */
export interface Sink {
  add(counter: CounterKey, value: number, attributes: Attributes): void
  record(histogram: HistogramKey, value: number, attributes: Attributes): void
  /**
   * Begins to read current values. May be called again: then it begins anew only if somebody else ended it.
   *
   * @param collect called whenever metrics are collected. It adds to counters what is not in them yet, and tells every gauge's value
   * @throws {ConfigError} when the metrics cannot be registered
   */
  open(collect: (observe: Observe) => void): void
  /** Stops to read current values. */
  close(): void
}

/** Tells the value of one series of a gauge. */
export type Observe = (gauge: GaugeKey, value: number, attributes: Attributes) => void
