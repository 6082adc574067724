import type { Outcome, RefundRequest, Store, StoreRequest } from '@tollgate/core/store'

export type Broken = (inner: Store) => Partial<Store>
export type Outcomes = readonly Outcome[]

export const asks = (inner: Store, batch: readonly object[]): Outcomes =>
  inner.consume(batch as readonly StoreRequest[]) as Outcomes

/** Changes the limits in every answer. */
export function told(
  inner: Store,
  change: (limit: Outcome['limits'][number], i: number, request: StoreRequest) => object,
): Partial<Store> {
  const retell = (batch: readonly StoreRequest[], outcomes: Outcomes): Outcome[] =>
    outcomes.map((outcome, n) => ({
      ...outcome,
      limits: outcome.limits.map((limit, i) => ({ ...limit, ...change(limit, i, batch[n] as StoreRequest) })),
    }))
  return { consume: (batch) => retell(batch, asks(inner, batch)) }
}

/** What a fault makes of a request: it need not be of any kind that there is. */
export type Change = (request: StoreRequest) => object

/** Changes every request. */
export function asked(inner: Store, change: Change): Partial<Store> {
  return { consume: (batch) => inner.consume(batch.map(change) as StoreRequest[]) }
}

export const refunds = (inner: Store, change: (request: RefundRequest) => RefundRequest): Partial<Store> => ({
  refund: (batch) => inner.refund(batch.map(change)),
})

export const ofGrant = (grant: string, change: Change): Change => {
  return (request) => (request.grant === grant ? change(request) : request)
}

/** What is wrong with the store, the code that breaks it, and patterns for the names of the checks that find it. */
export type Fault = readonly [what: string, make: Broken, found: readonly RegExp[]]
