import type { Counter, Meter, ObservableUpDownCounter } from '@opentelemetry/api'

/** Each metric's name, unit and description. A test compares docs/operations/metrics.md with this table. */
export const METRICS = {
  decisions: ['tollgate.decisions', '{decision}', 'Requests decided, by whatever source.'],
  units: [
    'tollgate.units',
    '{unit}',
    'Quota units that decided requests asked for; those allowed took them.',
  ],
  violations: ['tollgate.limit.violations', '{violation}', 'Denials by each limit that had no room.'],
  observations: [
    'tollgate.limit.observations',
    '{observation}',
    'Requests that passed, and that each limit which only observes would have denied.',
  ],
  overage: [
    'tollgate.limit.overage',
    '{unit}',
    'Units that requests took beyond the quota of each limit with overage.',
  ],
  shed: ['tollgate.shed', '{request}', 'Requests refused because the process was overloaded.'],
  blocks: ['tollgate.blocks', '{block}', 'Blocks of subjects that began, because of their denials.'],
  warnings: [
    'tollgate.limit.warnings',
    '{warning}',
    'Times that a subject passed a share of a limit, each counted by one process.',
  ],
  bookings: [
    'tollgate.bookings',
    '{booking}',
    'Top-ups, renewals and penalties, each counted by one process.',
  ],
  fallbacks: ['tollgate.fallback.decisions', '{decision}', 'Requests that the failure policy decided.'],
  storeErrors: ['tollgate.store.errors', '{error}', 'Faults of the store, each of a batch of requests.'],
  failedRequests: [
    'tollgate.store.failed_requests',
    '{request}',
    'Requests that the store should have decided and did not.',
  ],
  breakerChanges: ['tollgate.breaker.changes', '{change}', 'How often the breaker changed to a state.'],
  reconciledUnits: [
    'tollgate.reconciliation.units',
    '{unit}',
    'Units admitted without the store: charged to it later, or dropped, since no limit had room.',
  ],
  ruleChanges: [
    'tollgate.rule.changes',
    '{change}',
    'Rules that this process set or lifted, each counted by one process.',
  ],
  evictions: [
    'tollgate.store.evictions',
    '{subject}',
    'Subjects that the store forgot while their units still counted.',
  ],
  leaseUnits: ['tollgate.lease.units', '{unit}', 'Units of leases, by what happened to them.'],
  leaseRenewals: [
    'tollgate.lease.renewals',
    '{lease}',
    'Leases granted to a process that held one of the same subject.',
  ],
  planErrors: ['tollgate.plan_lookup.errors', '{error}', 'Look-ups of a plan by planOf that failed.'],
  unknownPlans: [
    'tollgate.unknown_plan.requests',
    '{request}',
    'Requests whose subject names a plan that does not exist, or none, by the plan that was used.',
  ],
  pending: ['tollgate.request.pending', '{request}', 'Requests that wait for the store.'],
  inFlight: ['tollgate.inflight', '{request}', 'Requests in flight that a limit counts.'],
  waiting: ['tollgate.waiting', '{request}', 'Requests that wait in line.'],
  leasesHeld: ['tollgate.lease.held', '{lease}', 'Leases from which requests can be served.'],
  breakerStatus: ['tollgate.breaker.status', '1', '1 for the state that the breaker is in, else 0.'],
  limiterStatus: ['tollgate.limiter.status', '1', '1 for the state that the limiter is in, else 0.'],
} as const

/** The attributes that this package sets. */
export const ATTRIBUTES = {
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

const OBSERVED = ['pending', 'inFlight', 'waiting', 'leasesHeld', 'breakerStatus', 'limiterStatus'] as const

type MetricName = keyof typeof METRICS
type ObservedName = (typeof OBSERVED)[number]

export type Instruments = Readonly<
  Record<Exclude<MetricName, ObservedName>, Counter> & Record<ObservedName, ObservableUpDownCounter>
>

export function createInstruments(meter: Meter): Instruments {
  const entries = Object.entries(METRICS).map(([key, [name, unit, description]]) => {
    const isObserved = (OBSERVED as readonly string[]).includes(key)
    const options = { unit, description }
    return [
      key,
      isObserved ? meter.createObservableUpDownCounter(name, options) : meter.createCounter(name, options),
    ]
  })
  return Object.fromEntries(entries) as Instruments
}
