import type { StoreRequest } from '@tollgate/core/store'
import { asked, ofGrant, refunds, type Fault } from './fault.js'

export const faultsOfForceAndRefunds: readonly Fault[] = [
  [
    'force stops at the quota',
    (inner) =>
      asked(
        inner,
        ofGrant('force', (request) => ({ ...request, parts: request.parts.map(cutAtFive) })),
      ),
    [/force: goes over/],
  ],
  [
    'force takes all as of now',
    (inner) =>
      asked(
        inner,
        ofGrant('force', (request) => ({ ...request, parts: request.parts.map(fresh) })),
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

function cutAtFive(part: StoreRequest['parts'][number]): StoreRequest['parts'][number] {
  const cut = part.used?.map((own) => own.map((usage) => ({ ...usage, units: Math.min(usage.units, 5) })))
  return { ...part, used: cut }
}

function fresh(part: StoreRequest['parts'][number]): StoreRequest['parts'][number] {
  return { ...part, used: part.used?.map((own) => own.map((usage) => ({ ...usage, ageUs: 0 }))) }
}
