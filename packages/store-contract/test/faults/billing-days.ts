import type { StoreRequest } from '@tollgate/core/store'
import { asked, told, type Fault } from './fault.js'

/** Each part under a key that says more. */
const keyed = (suffix: (part: StoreRequest['parts'][number]) => string) => {
  return (request: StoreRequest): object => ({
    ...request,
    parts: request.parts.map((part) => ({ ...part, key: `${part.key}${suffix(part)}` })),
  })
}

export const faultsOfBillingDays: readonly Fault[] = [
  [
    'each billing day has units of its own',
    (inner) =>
      asked(
        inner,
        keyed(({ set }) => String(set.billing?.day.anchor ?? '')),
      ),
    [/moved day/, /first day/],
  ],
  [
    'units without a billing day are counted apart',
    (inner) =>
      asked(
        inner,
        keyed(({ set }) => (set.billing ? '-billed' : '')),
      ),
    [/first day/],
  ],
  ['a short window is not told', (inner) => told(inner, () => ({ shortQuota: undefined })), [/moved day/]],
]
