import type { Hold, HoldOutcome, Outcome, StoreRequest } from '@tollgate/core/store'
import { asked, asks, type Broken, type Fault } from './fault.js'
import { reported } from './leases.js'

const ofHold = (change: (hold: Hold, request: StoreRequest) => Partial<StoreRequest>): Broken => {
  return (inner) =>
    asked(inner, (request) => (request.hold ? { ...request, ...change(request.hold, request) } : request))
}

const holdTold = (change: (hold: HoldOutcome, request: StoreRequest) => Partial<HoldOutcome>): Broken => {
  return (inner) => ({
    consume: (batch) =>
      asks(inner, batch).map((outcome, i) => {
        const { hold } = outcome
        return hold ? { ...outcome, hold: { ...hold, ...change(hold, batch[i] as StoreRequest) } } : outcome
      }),
  })
}

/** As if what is held were only promised. */
const nothingHeld: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      if (!request.hold) return (asks(inner, [request]) as [Outcome])[0]
      const [outcome] = inner.peek([request]) as [Outcome]
      return outcome.hold ? { ...outcome, hold: { delayUs: 0, endsInUs: request.hold.lengthUs } } : outcome
    }),
})

/** Leases the cost of a reservation: it then counts when it ends. */
const leased: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      const { hold, parts } = request
      if (hold?.kind !== 'reservation' || parts[0]?.cost !== 4)
        return (asks(inner, [request]) as [Outcome])[0]
      const { id, lengthUs } = hold
      const wish = { id, most: 4, least: 4, share: 1, lengthUs, lagUs: 0 }
      const [{ at, limits, lease }] = asks(inner, [
        { shard: 0, parts, grant: 'lease', order: { reports: [], wish } },
      ]) as [Outcome]
      return { at, limits, hold: { delayUs: 0, endsInUs: lease?.endsInUs ?? 0 } }
    }),
})

const deniedReserve: Broken = (inner) => ({
  consume: (batch) =>
    asks(inner, batch).map((outcome, i) => {
      const request = batch[i] as StoreRequest
      const parts = request.parts.map((part) => ({ ...part, cost: 1 }))
      if (request.hold && !outcome.hold) asks(inner, [{ ...request, parts }])
      return outcome
    }),
})

/** Every place of a key is told the time of the first. */
function alwaysFirst(): Broken {
  const first = new Map<string, number>()
  return (inner) => ({
    consume: (batch) =>
      asks(inner, batch).map((outcome, i) => {
        const { hold, at } = outcome
        const key = batch[i]?.parts[0]?.key ?? ''
        if (!hold || hold.delayUs === 0) return outcome
        const time = first.get(key) ?? at + hold.delayUs
        first.set(key, time)
        return { ...outcome, hold: { delayUs: time - at, endsInUs: time - at + 50_000 } }
      }),
  })
}

/** The units of a place that has ended are there again. */
const vanished: Broken = (inner) => ({
  peek: (batch) =>
    (inner.peek(batch) as Outcome[]).map((outcome) => ({
      ...outcome,
      limits: outcome.limits.map((limit) =>
        limit.leased === undefined ? { ...limit, remaining: 10 } : limit,
      ),
    })),
})

let repeated = 0

export const faultsOfHolds: readonly Fault[] = [
  ['what is reserved is there for all', nothingHeld, [/no other request gets what is reserved/]],
  [
    'a reservation is shorter',
    holdTold(() => ({ endsInUs: 1000 })),
    [/no other request gets what is reserved/],
  ],
  ['a denied request reserves units', deniedReserve, [/reserves nothing/]],
  ['what is committed does not count', reported(() => ({ used: 0 })), [/what is committed/]],
  ['what is not committed stays away', reported(({ used }) => ({ left: 9 - used })), [/what is committed/]],
  [
    'cancelling counts all',
    reported(({ used, left }) => (used + left === 0 ? { used: 99 } : {})),
    [/cancelled/],
  ],
  ['a reservation counts at its end', leased, [/comes back at its end/]],
  [
    'a repeated request gets another hold',
    ofHold((hold) => {
      repeated += 1
      return { hold: { ...hold, id: `copy-${String(repeated).padStart(7, '0')}` } }
    }),
    [/whose id comes again/],
  ],
  [
    'what fits is held, too',
    ofHold((hold, { parts }) => ({
      hold: { ...hold, kind: parts[0]?.cost === 4 ? 'reservation' : hold.kind },
    })),
    [/a cost that fits now/],
  ],
  ['a place is told too early', holdTold(() => ({ delayUs: 1 })), [/the time at which the cost fits/]],
  ['a place has no slack', ofHold((hold) => ({ hold: { ...hold, slackUs: 1 } })), [/the time at which/]],
  ['all places have one time', alwaysFirst(), [/after those before/]],
  [
    'a place cannot be given back',
    reported(({ used, left }) => (used + left === 0 ? { left: 9 } : {})),
    [/given back goes to the next/],
  ],
  ['a line has no end', ofHold((hold) => ({ hold: { ...hold, most: 1000 } })), [/at most so many/]],
  [
    'a place can be later than asked for',
    ofHold((hold) => ({ hold: { ...hold, lengthUs: Math.max(hold.lengthUs, 2 ** 45) } })),
    [/later than asked for/],
  ],
  ['what was in a place never counts', vanished, [/count as used when it ends/]],
  [
    'all keys wait in line',
    ofHold((_, { parts }) => ({
      parts: parts.map((part) => ({ ...part, set: { ...part.set, wait: parts[0]?.set.wait } })),
    })),
    [/must have room now/],
  ],
]
