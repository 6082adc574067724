import type { ChargedPart, Usage } from '@tollgate/core/store'
import { asked, ofGrant, refunds, type Change, type Fault } from './fault.js'

export const faultsOfForceAndRefunds: readonly Fault[] = [
  [
    'force stops at the quota',
    (inner) =>
      asked(
        inner,
        ofUsed((usage) => ({ ...usage, units: Math.min(usage.units, 5) })),
      ),
    [/force: goes over/],
  ],
  [
    'force takes all as of now',
    (inner) =>
      asked(
        inner,
        ofUsed((usage) => ({ ...usage, ageUs: 0 })),
      ),
    [/force: counts units from/],
  ],
  [
    'force ignores ids',
    (inner) =>
      asked(
        inner,
        ofGrant('force', (request) => ({ ...request, id: undefined })),
      ),
    [/force: an id counts once/, /force: an id that comes many times/],
  ],
  [
    'refund ignores ids',
    (inner) => refunds(inner, (request) => ({ ...request, id: undefined })),
    [/refund: an id/],
  ],
  [
    'refund gives every limit as much as the first',
    (inner) =>
      refunds(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({
          ...part,
          receipts: part.receipts.map((receipt) => ({ ...receipt, units: part.receipts[0]?.units ?? 0 })),
        })),
      })),
    [/refund: gives each limit/, /refund: gives several keys/],
  ],
  [
    'refund gives nothing where it is not told when the units were taken',
    (inner) =>
      refunds(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({
          ...part,
          receipts: part.receipts.map((receipt) => ({
            ...receipt,
            units: receipt.at < 0 ? 0 : receipt.units,
          })),
        })),
      })),
    [/refund: by a key alone/],
  ],
  [
    'refund gives back to the first key only',
    (inner) => refunds(inner, (request) => ({ ...request, parts: request.parts.slice(0, 1) })),
    [/refund: gives several keys/],
  ],
  ['refund gives nothing', () => ({ refund: (batch) => batch.map(() => true) }), [/refund: gives units/]],
]

/** Changes what is said of used units. */
function ofUsed(change: (usage: Usage) => Usage): Change {
  return ofGrant('force', (request) => ({
    ...request,
    parts: request.parts.map((part) => ({
      ...part,
      used: (part as ChargedPart).used.map((own) => own.map(change)),
    })),
  }))
}
