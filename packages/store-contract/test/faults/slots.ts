import type { Outcome, SlotHolder, Store, StoreRequest, SubRequest } from '@tollgate/core/store'
import { asked, asks, ofGrant, told, type Broken, type Change, type Fault } from './fault.js'

/** Changes the parts that tell of slots. */
const slotted = (change: (part: SubRequest, slots: SlotHolder, i: number) => Partial<SubRequest>): Broken => {
  return (inner) =>
    asked(inner, (request) => ({
      ...request,
      parts: request.parts.map((part, i) =>
        part.slots ? { ...part, ...change(part, part.slots, i) } : part,
      ),
    }))
}

/** Declares that a holder has `more` slots than it told. */
function declare(inner: Store, part: SubRequest, more: number): void {
  const { slots } = part
  if (!slots) return
  const held = slots.held + more
  asks(inner, [{ shard: 0, grant: 'declare', parts: [{ ...part, slots: { ...slots, held } }] }])
}

/** Does something more after each request for slots. */
const afterwards = (act: (inner: Store, part: SubRequest, isTaken: boolean) => void): Broken => {
  return (inner) => ({
    consume: (batch) =>
      batch.map((request) => {
        const [outcome] = asks(inner, [request]) as [Outcome]
        const isTaken = outcome.limits.every(({ wait }) => wait === 0)
        if (request.grant === 'all') for (const part of request.parts) act(inner, part, isTaken)
        return outcome
      }),
  })
}

/** Every look at a key tells again what all its holders told last. */
const immortal: Broken = (inner) => {
  const last = new Map<string, StoreRequest>()
  return {
    consume: (batch) => {
      const outcomes = asks(inner, batch)
      for (const [i, { parts }] of batch.entries()) {
        const [part] = parts as [SubRequest]
        const { slots, set, key } = part
        const slot = outcomes[i]?.limits[set.inFlightIndex ?? 0]?.slot ?? 0
        if (!slots || slot === 0) continue
        const own = { ...slots, held: 1, known: slot }
        last.set(key + slots.id, { shard: 0, grant: 'declare', parts: [{ ...part, slots: own }] })
      }
      return outcomes
    },
    peek: (batch) => {
      asks(inner, [...last.values()])
      return inner.peek(batch)
    },
  }
}

/** A refund gives a slot back, too. */
const refunded: Broken = (inner) => {
  const holders = new Map<string, SlotHolder>()
  return {
    ...afterwards((_, { key, slots }) => slots && holders.set(key, slots))(inner),
    refund: (batch) => {
      for (const { parts } of batch) {
        for (const { key, set } of parts) {
          const slots = holders.get(key)
          const part = { key, set, cost: 1, slots: slots && { ...slots, known: slots.known + 1 } }
          if (slots) asks(inner, [{ shard: 0, grant: 'release', parts: [part] }])
        }
      }
      return inner.refund(batch)
    },
  }
}

/** Slots that a holder has not heard of yet are not held, if an answer has told of them. */
const heardOfAll: Broken = (inner) => {
  const numbers = new Map<string, number>()
  return {
    consume: (batch) =>
      batch.map((request) => {
        const [part] = request.parts as [SubRequest]
        const { slots, key, set } = part
        const name = `${key} ${slots?.id}`
        const own = slots && { ...slots, known: Math.max(slots.known, numbers.get(name) ?? 0) }
        const parts = [{ ...part, slots: own }, ...request.parts.slice(1)]
        const [outcome] = asks(inner, [{ ...request, parts }]) as [Outcome]
        numbers.set(name, outcome.limits[set.inFlightIndex ?? 0]?.slot ?? 0)
        return outcome
      }),
  }
}

const telling = (from: string, grant: StoreRequest['grant']): Broken => {
  return changed(ofGrant(from, (request) => ({ ...request, grant })))
}

const unheard = (grant: string): Broken => {
  const parts = (request: StoreRequest): SubRequest[] =>
    request.parts.map((part) => ({ ...part, slots: undefined }))
  return changed(ofGrant(grant, (request) => ({ ...request, parts: parts(request) })))
}

export const faultsOfSlots: readonly Fault[] = [
  ['requests in flight are not counted', slotted(() => ({ slots: undefined })), [/as many requests run/]],
  [
    'each holder has all slots to itself',
    slotted(({ key }, { id }) => ({ key: `${key} ${id}` })),
    [/as many requests run/],
  ],
  ['slots have no numbers', (inner) => told(inner, () => ({ slot: 0 })), [/numbers that go up/]],
  [
    'what a holder has not heard of is not held',
    slotted((_, slots) => ({ slots: { ...slots, known: slots.known + 100 } })),
    [/whose answer was lost/],
  ],
  ['a holder is taken to have heard of all', heardOfAll, [/late message/]],
  ['what is declared is only released', telling('declare', 'release'), [/a declaration keeps them/]],
  ['what is released is declared', telling('release', 'declare'), [/leaves their end/]],
  ['what is declared is not heard', unheard('declare'), [/also when the store has forgotten it/]],
  [
    'what is released is not heard',
    unheard('release'),
    [/that is not known declares/, /as many requests run/],
  ],
  [
    'a denied request holds a slot',
    afterwards((inner, part, isTaken) => void (isTaken || declare(inner, part, 1))),
    [/takes no slot and no unit/],
  ],
  [
    'a request has a slot for each unit',
    afterwards((inner, part, isTaken) => void (isTaken && declare(inner, part, part.cost - 1))),
    [/takes one, whatever it costs/],
  ],
  [
    'slots count as units that are given',
    changed(
      ofGrant('upTo', (request) => ({
        ...request,
        parts: request.parts.map((part) => ({ ...part, cost: 1 })),
      })),
    ),
    [/other grants and refunds/],
  ],
  ['a refund gives a slot back', refunded, [/other grants and refunds/]],
  [
    'another plan begins anew',
    slotted(({ key, set }) => ({ key: set.limits.length > 1 ? `${key} plan` : key })),
    [/another number of them/],
  ],
  [
    'only the first key counts requests in flight',
    slotted((part, _, i) => (i > 0 ? { slots: undefined } : part)),
    [/all give one or none/],
  ],
  ['slots never end', immortal, [/silent holder end/]],
]

function changed(change: Change): Broken {
  return (inner) => asked(inner, change)
}
