import {
  EARLIEST,
  type AccountEntry,
  type AccountRequest,
  type LimitOutcome,
  type LimitSet,
  type Outcome,
  type Store,
  type StoreRequest,
} from '@tollgate/core/store'
import { asks, refunds, type Broken, type Fault } from './fault.js'

type Ask = (change?: Partial<AccountEntry>) => Outcome

/** Answers what is to be booked in another way. `ask` books it, with other terms if need be. */
const booking = (answer: (ask: Ask, request: AccountRequest) => Outcome): Broken => {
  return (inner) => ({
    consume: (batch) =>
      batch.map((request) => {
        if (request.grant !== 'account') return (asks(inner, [request]) as [Outcome])[0]
        const ask: Ask = (change) =>
          (asks(inner, [{ ...request, entry: { ...request.entry, ...change } }]) as [Outcome])[0]
        return answer(ask, request)
      }),
  })
}

const entered = (change: (entry: AccountEntry, request: AccountRequest) => Partial<AccountEntry>): Broken => {
  return booking((ask, request) => ask(change(request.entry, request)))
}

let ids = 0
const freshId = (): string => `fresh-${String((ids += 1)).padStart(6, '0')}`

/** Books again, under another id, what gets this answer. */
const bookingAgain = (what: Outcome['booked'], booked = what): Broken => {
  return booking((ask) => {
    const outcome = ask()
    return outcome.booked === what ? { ...ask({ id: freshId() }), booked } : outcome
  })
}

/** An id is forgotten so long after it was booked; by default when no unit of its limits counts any more. */
const forgetting = (lengthUs?: number): Broken => {
  return (inner) => {
    const times = new Map<string, number>()
    return booking((ask, { parts, entry }) => {
      const [part] = parts
      const outcome = ask()
      const name = `${part?.key} ${entry.id}`
      const since = outcome.at - (times.get(name) ?? outcome.at)
      if (!times.has(name)) times.set(name, outcome.at)
      const isOver = since >= (lengthUs ?? (part?.set.ttlMs ?? 0) * 1000)
      return outcome.booked === 'repeated' && since > 0 && isOver ? ask({ id: freshId() }) : outcome
    })(inner)
  }
}

const idsOfAllKeys: Broken = (inner) => {
  const keys = new Map<string, string>()
  return booking((ask, { parts, entry: { id } }) => {
    const key = parts[0]?.key ?? ''
    const run = key.replace(/:[^:]*$/, id)
    const known = keys.get(run) ?? key
    keys.set(run, known)
    if (known === key) return ask()
    const [look] = inner.peek([{ shard: 0, grant: 'all', parts }]) as [Outcome]
    return { ...look, booked: 'repeated' }
  })(inner)
}

/** Says of these that they are booked, and books nothing. */
const notBooking = (kind: AccountEntry['kind']): Broken => {
  return (inner) =>
    booking((ask, { parts, entry }) => {
      if (entry.kind !== kind) return ask()
      const [look] = inner.peek([{ shard: 0, grant: 'all', parts }]) as [Outcome]
      return { ...look, booked: 'booked' }
    })(inner)
}

const penaltyToTheBrim: Broken = (inner) =>
  booking((ask, { parts, entry }) => {
    if (entry.kind !== 'penalty') return ask()
    const [look] = inner.peek([{ shard: 0, grant: 'all', parts }]) as [Outcome]
    return ask({ units: Math.min(entry.units, look.limits[entry.limit]?.remaining ?? 0) })
  })(inner)

/** Books on all limits of the key what is for one. */
const onAllLimits = (kind: AccountEntry['kind']): Broken => {
  return booking((ask, { parts, entry }) => {
    const others = entry.kind === kind ? (parts[0]?.set.limits.length ?? 1) : 0
    for (let limit = 0; limit < others; limit += 1) {
      if (limit !== entry.limit) ask({ limit, id: freshId() })
    }
    return ask()
  })
}

/** A full account knows nobody. */
const fullForAll: Broken = (inner) => {
  const counts = new Map<string, number>()
  return booking((ask, { parts }) => {
    const key = parts[0]?.key ?? ''
    const outcome = ask()
    if (outcome.booked === 'booked') counts.set(key, (counts.get(key) ?? 0) + 1)
    return outcome.booked !== 'booked' && (counts.get(key) ?? 0) >= 64
      ? { ...outcome, booked: 'full' }
      : outcome
  })(inner)
}

/** A top-up is a larger quota, in each window again. */
const largerQuota: Broken = (inner) => {
  const sets = new Map<string, LimitSet>()
  const larger = (request: StoreRequest): StoreRequest => {
    const parts = request.parts.map((part) => ({ ...part, set: sets.get(part.key) ?? part.set }))
    return { ...request, parts } as StoreRequest
  }
  const consume = booking((ask, { parts, entry }) => {
    const [part] = parts
    // A renewal of what has used nothing only keeps the id.
    const outcome = ask(entry.kind === 'topUp' ? { kind: 'renewal', units: 0 } : {})
    if (part && entry.kind === 'topUp' && outcome.booked === 'booked')
      sets.set(part.key, withUnits(part.set, entry.units))
    return outcome
  })({ ...inner, consume: (batch) => inner.consume(batch.map(larger)) }).consume
  return { ...(consume && { consume }), peek: (batch) => inner.peek(batch.map(larger)) }
}

function withUnits(set: LimitSet, units: number): LimitSet {
  const limits = set.limits.map((limit) => {
    const paramsAt: typeof limit.paramsAt = (...time) => {
      const params = limit.paramsAt(...time)
      return { ...params, quota: Number(params['quota']) + units }
    }
    return { ...limit, paramsAt }
  })
  return { ...set, limits }
}

/** Changes the limits in the answers for keys that have a top-up. `topUp`: the last one. */
const topUpTold = (change: (limit: LimitOutcome, topUp: AccountRequest, at: number) => object): Broken => {
  return (inner) => {
    const topUps = new Map<string, AccountRequest>()
    const retold = (batch: readonly StoreRequest[], outcomes: readonly Outcome[]): Outcome[] =>
      outcomes.map((outcome, i) => {
        const request = batch[i] as StoreRequest
        const key = request.parts[0]?.key ?? ''
        if (request.grant === 'account' && request.entry.kind === 'topUp') topUps.set(key, request)
        const topUp = topUps.get(key)
        if (!topUp) return outcome
        const limits = outcome.limits.map((limit) => ({ ...limit, ...change(limit, topUp, outcome.at) }))
        return { ...outcome, limits }
      })
    return {
      consume: (batch) => retold(batch, asks(inner, batch)),
      peek: (batch) => retold(batch, inner.peek(batch) as readonly Outcome[]),
    }
  }
}

/** Refunds fill the quota first. */
const fillingLast: Broken = (inner) => {
  const back = new Map<string, number>()
  return {
    ...topUpTold(({ toppedUp = 0 }, { parts }) => {
      return { toppedUp: Math.max(toppedUp - (back.get(parts[0]?.key ?? '') ?? 0), 0) }
    })(inner),
    ...refunds(inner, (request) => {
      for (const { key, receipts } of request.parts) {
        back.set(key, (back.get(key) ?? 0) + (receipts[0]?.units ?? 0))
      }
      return request
    }),
  }
}

const ofTopUps = (change: (entry: AccountEntry, request: AccountRequest) => Partial<AccountEntry>): Broken =>
  entered((entry, request) => (entry.kind === 'topUp' ? change(entry, request) : {}))

const HOUR_US = 3_600_000_000

/** Tells no closed window once a request came with limits that have no overage. */
function forgettingClosed(inner: Store): Partial<Store> {
  let forgets = false
  const isWithout = ({ grant, parts }: StoreRequest): boolean =>
    grant === 'all' && parts.some(({ set }) => !set.isLenient)
  return {
    consume(batch) {
      if (batch.some(isWithout)) forgets = true
      return asks(inner, batch).map(({ usage, ...outcome }) =>
        usage ? { ...outcome, usage: forgets ? { running: usage.running } : usage } : outcome,
      )
    },
  }
}

export const faultsOfAccounts: readonly Fault[] = [
  ['a repeated entry counts again', bookingAgain('repeated'), [/an id counts once/]],
  [
    'a repeated entry counts again, and says so',
    entered(() => ({ id: freshId() })),
    [/an id counts once/, /after the quota/],
  ],
  ['an id with another `says` counts', bookingAgain('other'), [/an id counts once/]],
  [
    '`says` is not compared',
    entered(() => ({ says: 'says_0' })),
    [/an id counts once/, /knows each of them/],
  ],
  ['an id counts once for all keys', idsOfAllKeys, [/an id counts once/]],
  ['an id is forgotten with the window', forgetting(), [/even after the window/, /seven days/]],
  ['an id is forgotten after six days', forgetting(6 * 24 * HOUR_US), [/seven days/]],
  ['a penalty counts up to the quota', penaltyToTheBrim, [/counts over the quota/]],
  ['a penalty counts nothing', notBooking('penalty'), [/counts over the quota/]],
  ['a penalty counts for all limits', onAllLimits('penalty'), [/counts over the quota of its limit/]],
  [
    'a penalty makes the windows of other limits longer',
    booking((ask, { entry }) => {
      const outcome = ask()
      const isOther = (i: number): boolean => entry.kind === 'penalty' && i !== entry.limit
      const limits = outcome.limits.map((limit, i) => ({
        ...limit,
        reset: limit.reset + (isOther(i) ? 40_000 : 0),
      }))
      return { ...outcome, limits }
    }),
    [/ages no other/],
  ],
  ['a renewal changes nothing', notBooking('renewal'), [/a renewal begins/]],
  ['a renewal begins all limits afresh', onAllLimits('renewal'), [/a renewal begins one limit/]],
  [
    'units taken before a renewal come back',
    (inner) =>
      refunds(inner, (request) => ({
        ...request,
        parts: request.parts.map((part) => ({
          ...part,
          receipts: part.receipts.map((one) => ({ ...one, at: EARLIEST })),
        })),
      })),
    [/before do not come back/],
  ],
  [
    'a full account says that it has booked',
    booking((ask) => {
      const outcome = ask()
      return outcome.booked === 'full' ? { ...outcome, booked: 'booked' } : outcome
    }),
    [/at most 64/],
  ],
  ['a full account knows none of its entries', fullForAll, [/still knows each/]],
  [
    'usage is told as of the window of now alone',
    booking((ask, { entry }) => {
      const outcome = ask()
      return entry.kind === 'usage' ? { ...outcome, usage: { running: outcome.usage?.running } } : outcome
    }),
    [/usage of a limit/],
  ],
  [
    'usage is told without what exceeds the quota',
    booking((ask) => {
      const { usage, ...outcome } = ask()
      const running = usage?.running && { ...usage.running, over: 0 }
      return usage ? { ...outcome, usage: { ...usage, running } } : outcome
    }),
    [/usage of a limit/],
  ],
  ['a plan without overage forgets the window before', forgettingClosed, [/usage of a limit/]],
  ['a top-up has no units', notBooking('topUp'), [/after the quota/, /next window/, /ends first/]],
  ['top-ups are not told', topUpTold(() => ({ toppedUp: undefined })), [/after the quota/, /ends first/]],
  [
    'a top-up is used before the quota',
    topUpTold(({ toppedUp, remaining }) => (toppedUp ? { toppedUp: Math.max(remaining - 3, 0) } : {})),
    [/after the quota/],
  ],
  ['units that come back fill the quota first', fillingLast, [/filled first/]],
  [
    'a wait does not count on top-ups',
    topUpTold(({ wait }) => (wait > 0 ? { wait: -1 } : {})),
    [/after the quota/],
  ],
  [
    'a wait counts on top-ups that will have ended',
    topUpTold(({ wait, reset }) => (wait < 0 ? { wait: reset } : {})),
    [/ends first/],
  ],
  [
    'a top-up ends with its window',
    ofTopUps(({ end }, { parts: [part] }) => {
      const ttlUs = (part?.set.ttlMs ?? 0) * 1000
      return 'inUs' in end ? { end: { inUs: Math.min(end.inUs, ttlUs) } } : {}
    }),
    [/next window/, /seven days/],
  ],
  ['a top-up comes again in each window', largerQuota, [/does not come again/]],
  [
    'a top-up never ends',
    ofTopUps(() => ({ end: { inUs: 400 * 24 * HOUR_US } })),
    [/none lasts longer/, /until that ends/],
  ],
  [
    'the top-up that was booked first is used first',
    topUpTold(({ toppedUp = 0, remaining }, { entry: { end } }, at) => {
      const isOver = 'at' in end && end.at <= at
      return isOver ? { toppedUp: undefined, remaining: remaining - toppedUp } : {}
    }),
    [/ends first is used first/],
  ],
  [
    'a top-up that has ended is booked',
    booking((ask) => {
      const outcome = ask()
      return outcome.booked === 'late' ? ask({ end: { inUs: HOUR_US } }) : outcome
    }),
    [/has ended is late/],
  ],
  [
    'what is late keeps its id',
    booking((ask) => {
      const outcome = ask()
      return outcome.booked === 'late' ? { ...ask({ kind: 'renewal', units: 0 }), booked: 'late' } : outcome
    }),
    [/has ended is late/],
  ],
]
