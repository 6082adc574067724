// The contract must be able to fail: stores that are broken on purpose, and what it says of each.
import type { Outcome, RefundRequest, Store, StoreRequest } from '../../src/store.js'
import { memoryStore, storeContract } from '../../src/store.js'

type Broken = (inner: Store) => Partial<Store>
type Outcomes = readonly Outcome[]

const asks = (inner: Store, batch: readonly StoreRequest[]): Outcomes => inner.consume(batch) as Outcomes

/** Changes what the limits of each answer say. */
function told(
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

/** Each request as another, or as several. */
function asked(inner: Store, change: (request: StoreRequest) => StoreRequest): Partial<Store> {
  return { consume: (batch) => inner.consume(batch.map(change)) }
}

const refunds = (inner: Store, change: (request: RefundRequest) => RefundRequest): Partial<Store> => ({
  refund: (batch) => inner.refund(batch.map(change)),
})

const ofGrant = (grant: string, change: (request: StoreRequest) => StoreRequest) => {
  return (request: StoreRequest): StoreRequest => (request.grant === grant ? change(request) : request)
}

/** How it is broken, how that is done, and words of the names of all checks that find it. */
const FAULTS: readonly [what: string, make: Broken, found: readonly RegExp[]][] = [
  [
    'it takes nothing for what it allows',
    (inner) => ({
      consume: (batch) => inner.peek(batch.map((request) => ({ ...request, grant: 'all' as const }))),
    }),
    [/its order/, /remaining truly/, /of many calls at once/, /upTo/, /force/],
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
    [/then what does/, /several keys of one request/],
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
    [/upTo: gives the same of every limit/, /upTo: gives the same of several keys/],
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
    [/upTo: gives the same of every limit/, /upTo: gives a part/, /upTo: many calls/],
  ],
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
    [/force: counts units as of when/],
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
    [/refund: gives each limit/, /refund: gives back to several/],
  ],
  [
    'refund gives back to the first key only',
    (inner) => refunds(inner, (request) => ({ ...request, parts: request.parts.slice(0, 1) })),
    [/refund: gives back to several/],
  ],
  ['refund gives nothing', () => ({ refund: (batch) => batch.map(() => true) }), [/refund: gives units/]],
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
    [/plans: what was used of one is remembered/],
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
    [/plans: what was used counts on/],
  ],
  [
    'reset forgets the first key only',
    (inner) => ({ reset: ([key = '']) => inner.reset([key], 0) }),
    [/reset: forgets/],
  ],
  [
    'long keys are cut off',
    (inner) =>
      asked(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({ ...part, key: part.key.slice(0, 200) })),
      })),
    [/keys: long ones/],
  ],
  [
    'it trims keys',
    (inner) =>
      asked(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({ ...part, key: part.key.trim().normalize() })),
      })),
    [/keys: each is counted/],
  ],
  [
    'it says too much is left',
    (inner) => told(inner, ({ remaining }) => ({ remaining: remaining + 1 })),
    [/remaining truly/],
  ],
  [
    'it says to come back too early',
    (inner) => told(inner, ({ wait }) => ({ wait: wait > 0 ? wait / 2 : wait })),
    [/time: who waits/],
  ],
  [
    'it says to come back too late',
    (inner) => told(inner, ({ wait }) => ({ wait: wait > 0 ? wait * 2 : wait })),
    [/time: who waits/],
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

function cutAtFive(part: StoreRequest['parts'][number]): StoreRequest['parts'][number] {
  const cut = part.used?.map((own) => own.map((usage) => ({ ...usage, units: Math.min(usage.units, 5) })))
  return { ...part, used: cut }
}

function fresh(part: StoreRequest['parts'][number]): StoreRequest['parts'][number] {
  return { ...part, used: part.used?.map((own) => own.map((usage) => ({ ...usage, ageUs: 0 }))) }
}

function brokenBy(make: Broken): Store {
  const inner = memoryStore()
  return {
    synchronous: true,
    atomic: true,
    clock: 'process',
    consume: (batch) => inner.consume(batch),
    peek: (batch) => inner.peek(batch),
    refund: (batch) => inner.refund(batch),
    reset: (keys, shard) => inner.reset(keys, shard),
    ...make(inner),
  }
}

const known = new Map<Broken, Promise<string[]>>()

/** The names of the checks that fail; of each fault once. */
function failing(make: Broken): Promise<string[]> {
  const names = known.get(make) ?? failingChecks(make)
  known.set(make, names)
  return names
}

async function failingChecks(make: Broken): Promise<string[]> {
  const names = await Promise.all(
    storeContract(() => brokenBy(make)).map(({ name, check }) =>
      check().then(
        () => [],
        () => [name],
      ),
    ),
  )
  return names.flat()
}

test('a store around one that is fine is fine', async () => {
  expect(await failing(() => ({}))).toEqual([])
})

test.each(FAULTS)('it is found that %s', async (_, make, found) => {
  const names = await failing(make)
  for (const words of found) expect(names).toContainEqual(expect.stringMatching(words))
})

test('every check is failed by some fault', async () => {
  const failed = new Set((await Promise.all(FAULTS.map(([, make]) => failing(make)))).flat())
  const never = storeContract(() => memoryStore())
    .map(({ name }) => name)
    .filter((name) => !failed.has(name))
  expect(never).toEqual([])
})

test('of a store that is not atomic, or counts by one algorithm, no more is asked', async () => {
  const seen: StoreRequest[] = []
  const names = await failing((inner) => ({
    atomic: false,
    algorithms: ['token-bucket'],
    consume: (batch) => {
      seen.push(...batch)
      return inner.consume(batch)
    },
  }))
  expect(names).toEqual([])
  expect(seen.filter(({ parts }) => parts.length !== 1)).toEqual([])
  const algorithms = seen.flatMap(({ parts }) =>
    parts.flatMap(({ set }) => set.limits.map(({ algorithm }) => algorithm)),
  )
  expect(new Set(algorithms)).toEqual(new Set(['token-bucket']))
})
