import type { Outcome, StoreRequest } from '@tollgate/core/store'
import { asked, asks, told, type Change, type Fault, type Outcomes } from './fault.js'

export const faultsOfKeysAndAnswers: readonly Fault[] = [
  [
    'it forgets what other plans used',
    (inner) => {
      const sets = new Map<string, unknown>()
      return asked(inner, (request) => {
        for (const { key, set } of request.parts) {
          const [mine, last] = [set.limits[0]?.stateId, sets.get(key)]
          if (last !== undefined && last !== mine) void inner.reset([key], 0)
          sets.set(key, mine)
        }
        return request
      })
    },
    [/plans: units used on one plan/],
  ],
  [
    'it keeps one count for two limits of one window',
    (inner) => ({
      consume: (batch) =>
        batch.map((request) => {
          const [part] = request.parts as [StoreRequest['parts'][number]]
          const { limits } = part.set
          const isOne = limits.length === 2 && limits[0]?.stateId === limits[1]?.stateId
          if (!isOne) return asks(inner, [request])[0] as Outcome
          const apart = limits.map((limit) => ({ ...part, set: { ...part.set, limits: [limit] } }))
          const outcomes = apart.map((own) => asks(inner, [{ ...request, parts: [own] }])[0] as Outcome)
          return { at: outcomes[0]?.at ?? 0, limits: outcomes.flatMap((outcome) => outcome.limits) }
        }),
    }),
    [/plans: two limits/],
  ],
  [
    'it counts buckets of one window apart, whatever else counts there',
    (inner) => {
      const apart: Change = (request) => ({
        ...request,
        parts: request.parts.map((part) => {
          const limits = part.set.limits.map((limit) => {
            const { stateId, besideId = stateId } = limit
            return { ...limit, stateId: besideId, besideId: undefined }
          })
          return { ...part, set: { ...part.set, limits } }
        }),
      })
      return { ...asked(inner, apart), peek: (batch) => inner.peek(batch.map(apart) as StoreRequest[]) }
    },
    [/plans: used units count on in each of several buckets/],
  ],
  [
    'it counts each quota apart',
    (inner) =>
      asked(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({
          ...part,
          key: `${part.key} ${JSON.stringify(part.set.limits[0]?.paramsAt(0))}`,
        })),
      })),
    [/plans: used units still count/],
  ],
  [
    'reset forgets the first key only',
    (inner) => ({ reset: ([key = '']) => inner.reset([key], 0) }),
    [/reset: forgets/],
  ],
  [
    'reset always says that something was there',
    (inner) => ({ reset: (keys) => inner.reset(keys, 0) || true }),
    [/reset: forgets/],
  ],
  [
    'long keys are cut off',
    (inner) =>
      asked(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({ ...part, key: part.key.slice(0, 200) })),
      })),
    [/keys: long keys/],
  ],
  [
    'it trims keys',
    (inner) =>
      asked(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({ ...part, key: part.key.trim().normalize() })),
      })),
    [/keys: each key counts/],
  ],
  [
    'it says too much is left',
    (inner) => told(inner, ({ remaining }) => ({ remaining: remaining + 1 })),
    [/remaining is exact/],
  ],
  [
    'it says to come back too early',
    (inner) => told(inner, ({ wait }) => ({ wait: wait > 0 ? wait / 2 : wait })),
    [/time: a client that waits/],
  ],
  [
    'it says to come back too late',
    (inner) => told(inner, ({ wait }) => ({ wait: wait > 0 ? wait * 2 : wait })),
    [/time: a client that waits/],
  ],
  [
    'a refund that gives nothing ages what is kept',
    (inner) => {
      let aged = 0
      const older = (outcomes: unknown): Outcome[] =>
        (outcomes as Outcomes).map((outcome) => ({
          ...outcome,
          limits: outcome.limits.map((limit) => ({ ...limit, reset: Math.max(limit.reset - aged, 0) })),
        }))
      return {
        consume: (batch) => older(inner.consume(batch)),
        peek: (batch) => older(inner.peek(batch)),
        refund: (batch) => {
          const answers = inner.refund(batch) as boolean[]
          aged += answers.filter((given) => !given).length * 40_000
          return answers
        },
      }
    },
    [/time: a request that takes/],
  ],
  [
    'it counts in ms',
    (inner) => ({
      consume: (batch) => asks(inner, batch).map((outcome) => ({ ...outcome, at: outcome.at / 1000 })),
      peek: (batch) =>
        (inner.peek(batch) as Outcomes).map((outcome) => ({ ...outcome, at: outcome.at / 1000 })),
    }),
    [/time: the clock/],
  ],
  ['what it says is no outcome', (inner) => told(inner, () => ({ remaining: '5' })), [/in its order/]],
  [
    'it says synchronous, and answers with promises',
    (inner) => ({ synchronous: true, consume: async (batch) => inner.consume(batch) as Outcomes }),
    [/in its order/],
  ],
  [
    'it does not say whether it is synchronous',
    () => ({ synchronous: undefined as never }),
    [/in its order/],
  ],
]
