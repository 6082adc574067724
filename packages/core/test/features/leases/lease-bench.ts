import { Demand } from '../../../src/features/leases/demand.js'
import type { LeaseChange } from '../../../src/features/leases/lease-reporter.js'
import { LeaseHolder, type LeaseUse } from '../../../src/features/leases/lease-holder.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { Part, Request } from '../../../src/requests/request.js'
import type { LeaseOutcome, Outcome } from '../../../src/stores/contract.js'

/** A holder on its own, with the answers and the time that a test gives it. */
const planOf = (mode: 'exact' | 'smooth'): ReturnType<typeof compilePlan> =>
  compilePlan('big', { limits: '60000/min', lease: { maxMs: 200, mode } }, 'plans.big')

/** A holder that hears of `perMs` requests in each ms until the time 100. */
export function hold(
  perMs = 1,
  mode: 'exact' | 'smooth' = 'exact',
): {
  holder: LeaseHolder
  told: LeaseChange[]
  totals: { used: number; renewed: number }
} {
  const plan = planOf(mode)
  const { set, limits } = plan
  if (!set) throw new Error('unlimited')
  const subject = { id: 'acme' }
  const part: Part = {
    key: 'acme',
    set,
    cost: 1,
    subject,
    limits,
    planName: 'big',
    place: undefined,
    onStoreFailure: undefined,
    shard: 0,
  }
  const told: LeaseChange[] = []
  const totals = { used: 0, renewed: 0 }
  const demand = new Demand(0)
  demand.begin(perMs * 100, perMs * 100)
  let ids = 0
  const holder = new LeaseHolder({
    part,
    plan,
    demand,
    newId: () => `id${(ids += 1)}`,
    reporter: {
      lease(change, isRenewal) {
        told.push(change)
        if (isRenewal) totals.renewed += 1
      },
      leaseUsed: (units) => void (totals.used += units),
    },
  })
  return { holder, told, totals }
}

export function outcome(granted: number, lease: Partial<LeaseOutcome> = {}, at = 5_000_000): Outcome {
  const limits = [{ wait: 0, remaining: 1000, reset: 5, granted }]
  return { at, limits, lease: { endsInUs: 200_000, isKnown: true, ...lease } }
}

/** A holder with a lease of 100 units, asked for at 100 and there at 101: it ends at 300. */
export function held(): ReturnType<typeof hold> {
  const all = hold()
  all.holder.next(100)
  all.holder.answered(outcome(100), 100, 101)
  return all
}

export const serve = (holder: LeaseHolder, times: number, nowMs: number): (LeaseUse | undefined)[] =>
  Array.from({ length: times }, () => holder.serve(1, nowMs))
export const orderOf = (request: Request | undefined): Request['order'] => request?.order
export const kinds = (told: readonly LeaseChange[]): (string | number)[][] =>
  told.map(({ kind, units }) => [kind, units])
