import type { Outcome, StoreRequest } from '@tollgate/core/store'
import { asks, told, type Fault } from './fault.js'

export const faultsOfDeciding: readonly Fault[] = [
  [
    'it takes nothing for what it allows',
    (inner) => ({
      consume: (batch) =>
        inner.peek(batch.map((request) => ({ ...request, grant: 'all' })) as StoreRequest[]),
    }),
    [/its order/, /remaining is exact/, /of many calls at once/, /upTo/, /force/],
  ],
  [
    'it takes for what it denies',
    (inner) => ({
      consume: (batch) =>
        batch.map((request) => {
          const [outcome] = asks(inner, [request]) as [Outcome]
          if (request.grant === 'all' && outcome.limits.some(({ wait }) => wait > 0)) {
            asks(inner, [{ ...request, grant: 'upTo' }])
          }
          return outcome
        }),
    }),
    [/then admits one/, /all keys of a request/],
  ],
  [
    'it takes from the limits that have room, where another denies',
    (inner) => ({
      consume: (batch) =>
        batch.map((request) => {
          const [outcome] = asks(inner, [request]) as [Outcome]
          const [part] = request.parts as [StoreRequest['parts'][number]]
          const roomy = part.set.limits.filter((_, i) => outcome.limits[i]?.wait === 0)
          if (request.grant === 'all' && roomy.length > 0 && roomy.length < part.set.limits.length) {
            asks(inner, [{ ...request, parts: [{ ...part, set: { ...part.set, limits: roomy } }] }])
          }
          return outcome
        }),
    }),
    [/all limits of a key/],
  ],
  [
    'its answers are in another order',
    (inner) => ({ consume: (batch) => asks(inner, batch).toReversed() }),
    [/in its order/],
  ],
  ['it loses an answer', (inner) => ({ consume: (batch) => asks(inner, batch).slice(1) }), [/in its order/]],
  ['a peek takes', (inner) => ({ peek: (batch) => inner.consume(batch) }), [/peeks without/]],
  [
    'upTo gives each limit what that has',
    (inner) =>
      told(inner, (limit, i, { grant }) => (grant === 'upTo' ? { granted: (limit.granted ?? 0) + i } : {})),
    [/upTo: gives the same from every limit/, /upTo: gives the same from every key/],
  ],
  [
    'upTo gives all or nothing',
    (inner) => ({
      consume: (batch) =>
        batch.map((request) => {
          if (request.grant !== 'upTo') return asks(inner, [request])[0] as Outcome
          const [outcome] = asks(inner, [{ ...request, grant: 'all' }]) as [Outcome]
          const isTaken = outcome.limits.every(({ wait }) => wait === 0)
          const granted = isTaken ? (request.parts[0]?.cost ?? 0) : 0
          return { ...outcome, limits: outcome.limits.map((limit) => ({ ...limit, granted })) }
        }),
    }),
    [/upTo: gives the same from every limit/, /upTo: gives a part/, /upTo: many calls/],
  ],
]
