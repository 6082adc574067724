import type { LeaseOrder, LimitOutcome, Outcome, StoreRequest } from '@tollgate/core/store'
import { asked, asks, ofGrant, told, type Broken, type Fault } from './fault.js'

const ordered = (change: (order: LeaseOrder) => LeaseOrder): Broken => {
  return (inner) =>
    asked(
      inner,
      ofGrant('lease', (request) => ({ ...request, order: change(request.order as LeaseOrder) })),
    )
}

const wished = (change: object): Broken => {
  return ordered(({ reports, wish }) => ({ reports, wish: wish && { ...wish, ...change } }))
}

export const reported = (change: (report: LeaseOrder['reports'][number], n: number) => object): Broken => {
  return ordered(({ reports, wish }) => ({
    reports: reports.map((report, n) => ({ ...report, ...change(report, n) })),
    wish,
  }))
}

const leaseTold = (change: object): Broken => {
  return (inner) => ({
    consume: (batch) =>
      asks(inner, batch).map((outcome) =>
        outcome.lease ? { ...outcome, lease: { ...outcome.lease, ...change } } : outcome,
      ),
  })
}

/** As if the units were only promised: `units` are given without taking them. */
const nothingTaken: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      if (request.grant !== 'lease') return (asks(inner, [request]) as [Outcome])[0]
      const [{ at, limits }] = inner.peek([{ ...request, grant: 'all', order: undefined }]) as [Outcome]
      const granted = Math.min(request.order?.wish?.most ?? 0, ...limits.map(({ remaining }) => remaining))
      const given = limits.map((limit) => ({ ...limit, wait: 0, granted }))
      return { at, limits: given, lease: { endsInUs: granted > 0 ? 1000 : 0, isKnown: true } }
    }),
})

let repeated = 0

export const faultsOfLeases: readonly Fault[] = [
  ['units on lease are there for all', nothingTaken, [/no other request gets units/, /what is reported/]],
  ['a lease takes all that is left', wished({ share: 1 }), [/of that a share/]],
  ['a lease can have too few units', wished({ least: 1 }), [/rather than too few/]],
  [
    'a repeated wish gets another lease',
    ordered(({ reports, wish }) => {
      repeated += 1
      return { reports, wish: wish && { ...wish, id: `again-${String(repeated).padStart(6, '0')}` } }
    }),
    [/comes again/],
  ],
  [
    'a report counts again',
    (inner) => ({
      consume: (batch) =>
        batch.flatMap((request) => {
          const used = request.order?.reports.reduce((sum, report) => sum + report.used, 0) ?? 0
          const [outcome] = asks(inner, [request]) as [Outcome]
          for (const part of used > 0 ? request.parts : []) {
            const usages = part.set.limits.map(() => [{ units: used, ageUs: 0 }])
            asks(inner, [{ shard: 0, grant: 'force', parts: [{ ...part, used: usages }] }])
          }
          return outcome
        }),
    }),
    [/counts once, however often/],
  ],
  ['what is given back is lost', reported(({ left }) => ({ used: 9 - left })), [/given back/]],
  ['it knows all leases', leaseTold({ isKnown: true }), [/says whether it knows/]],
  ['it knows no lease', leaseTold({ isKnown: false }), [/says whether it knows/]],
  [
    'a lease that ends gives back what is out',
    (inner) => ({
      ...told(inner, (limit) => withoutEnded(limit)),
      peek: (batch: readonly StoreRequest[]) =>
        (inner.peek(batch) as Outcome[]).map((outcome) => ({
          ...outcome,
          limits: outcome.limits.map((limit) => ({ ...limit, ...withoutEnded(limit) })),
        })),
    }),
    [/count as used when it ends/],
  ],
  [
    'a refund ends leases',
    (inner) => ({
      refund: (batch) => {
        for (const { parts, shard } of batch) {
          const keys = parts.map(({ key }) => key)
          void inner.reset(keys, shard)
        }
        return inner.refund(batch)
      },
    }),
    [/refunds and charges/],
  ],
]

function withoutEnded({ remaining, leased }: LimitOutcome): object {
  return leased === undefined && remaining === 6 ? { remaining: 10 } : {}
}
