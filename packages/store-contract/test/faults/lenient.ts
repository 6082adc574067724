// What faults of limits that deny nothing have in common: those that observe, and those with overage.
import type { LimitSet, Outcome } from '@tollgate/core/store'
import { asks, type Broken, type Change } from './fault.js'

/** The same request, whose limits all deny. */
export const denying: Change = (request) => ({
  ...request,
  parts: request.parts.map((part) => {
    const set = known.get(part.set) ?? without(part.set)
    known.set(part.set, set)
    return { ...part, set }
  }),
})

// The same set each time, as a limiter has it.
const known = new WeakMap<LimitSet, LimitSet>()

function without({ limits, ...set }: LimitSet): LimitSet {
  const all = limits.map((limit) => ({ ...limit, observes: undefined, overage: undefined }))
  return { ...set, limits: all, observes: undefined, isLenient: undefined }
}

/** An outcome without what such limits say. */
export const untold = ({ limits, ...outcome }: Outcome): Outcome => ({
  ...outcome,
  limits: limits.map((limit) => ({ ...limit, wouldWait: undefined, over: undefined })),
})

/** Takes from the first limit before it knows that another denies. */
export const takingFirst: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      const [outcome] = asks(inner, [request]) as [Outcome]
      const [part] = request.parts
      if (!part || outcome.limits.every(({ wait }) => wait === 0)) return outcome
      const used = part.set.limits.map((_, i) => (i === 0 ? [{ units: 1, ageUs: 0 }] : []))
      asks(inner, [{ shard: 0, grant: 'force', parts: [{ ...part, used }] }])
      return (inner.peek([request]) as readonly Outcome[])[0] as Outcome
    }),
})
