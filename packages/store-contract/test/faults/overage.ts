import type { Outcome } from '@tollgate/core/store'
import { asked, ofGrant, refunds, told, type Fault } from './fault.js'
import { denying, takingFirst, untold } from './lenient.js'

export const faultsOfOverage: readonly Fault[] = [
  [
    'limits with overage deny',
    (inner) => asked(inner, denying),
    [/exceeds the quota is let in/, /above the quota is let in/],
  ],
  [
    'units beyond the quota are not told',
    (inner) => told(inner, () => ({ over: undefined })),
    [/counted and told/, /one by one/],
  ],
  [
    'a look does not tell units beyond the quota',
    (inner) => ({ peek: (batch) => (inner.peek(batch) as readonly Outcome[]).map(untold) }),
    [/a look tells/],
  ],
  [
    'what another limit denies is counted beyond the quota',
    takingFirst,
    [/overage: what another limit denies/],
  ],
  [
    'limits with overage bound what takes as much as fits',
    (inner) => asked(inner, ofGrant('upTo', denying)),
    [/overage: as many units as fit/],
  ],
  [
    'a refund gives back less than what exceeds the quota',
    (inner) =>
      refunds(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({
          ...part,
          receipts: part.receipts.map((one, i) => (part.set.limits[i]?.overage ? { ...one, units: 0 } : one)),
        })),
      })),
    [/overage: a refund/],
  ],
]
