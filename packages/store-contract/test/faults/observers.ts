import type { Outcome } from '@tollgate/core/store'
import { asked, asks, ofGrant, told, type Broken, type Fault } from './fault.js'
import { denying, takingFirst, untold } from './lenient.js'

/** What would have been denied takes units all the same. */
const takingAll: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      const [outcome] = asks(inner, [request]) as [Outcome]
      const [part] = request.parts
      if (!part || outcome.limits[0]?.wouldWait === undefined) return outcome
      const used = part.set.limits.map((_, i) => (i === 0 ? [{ units: 1, ageUs: 0 }] : []))
      const [after] = asks(inner, [{ shard: 0, grant: 'force', parts: [{ ...part, used }] }]) as [Outcome]
      const left = after.limits[0]?.remaining ?? 0
      return {
        ...outcome,
        limits: outcome.limits.map((limit, i) => (i === 0 ? { ...limit, remaining: left } : limit)),
      }
    }),
})

export const faultsOfObservers: readonly Fault[] = [
  [
    'limits that observe deny',
    (inner) => asked(inner, denying),
    [/they deny nothing/, /never fits is let in/],
  ],
  [
    'what would have been denied is not told',
    (inner) => told(inner, () => ({ wouldWait: undefined })),
    [/one by one/],
  ],
  ['what would have been denied takes units', takingAll, [/never fits is let in/]],
  ['what another limit denies takes units', takingFirst, [/what another limit denies/]],
  [
    'a look does not say what would be denied',
    (inner) => ({ peek: (batch) => (inner.peek(batch) as readonly Outcome[]).map(untold) }),
    [/a look says/],
  ],
  [
    'limits that observe bound what takes as much as fits',
    (inner) => asked(inner, ofGrant('upTo', denying)),
    [/as many as fit the others/],
  ],
]
