import type { LimitSet, Outcome, StoreRequest, SubRequest } from '@tollgate/core/store'
import { asked, asks, ofGrant, told, type Broken, type Fault } from './fault.js'

/** Changes every part of every request. */
const parted = (change: (part: SubRequest) => object): Broken => {
  return (inner) =>
    asked(inner, (request) => ({
      ...request,
      parts: request.parts.map((part) => ({ ...part, ...change(part) })),
    }))
}

const ruled = (change: (rules: NonNullable<LimitSet['blockAfter']>) => object | undefined): Broken => {
  // The same set each time, as a limiter has it.
  const known = new WeakMap<LimitSet, LimitSet>()
  return (inner) => ({
    ...parted(({ set }) => {
      if (!set.blockAfter) return {}
      const changed = known.get(set) ?? ({ ...set, blockAfter: change(set.blockAfter) } as LimitSet)
      known.set(set, changed)
      return { set: changed }
    })(inner),
  })
}

const blockTold = (change: (block: object) => object | undefined): Broken => {
  return (inner) => told(inner, ({ block }) => (block ? { block: change(block) } : {}))
}

/** A denial is counted with each look. */
const countingLooks: Broken = (inner) => ({
  peek: (batch) => {
    const outcomes = inner.peek(batch)
    asks(
      inner,
      batch.map((request) => ({ ...request, parts: request.parts.map((part) => ({ ...part, cost: 1000 })) })),
    )
    return outcomes
  },
})

/** What has nothing is made before it is denied. */
const countingAll: Broken = (inner) => ({
  consume: (batch) =>
    batch.flatMap((request) => {
      const [part] = request.parts as [SubRequest]
      if (request.grant === 'all' && part.set.blockAfter && request.parts.length === 1) {
        asks(inner, [{ shard: 0, grant: 'force', parts: [{ ...part, used: part.set.limits.map(() => []) }] }])
      }
      return asks(inner, [request])
    }),
})

/** Every denied part counts for all parts of its request. */
const countingForAll: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      const [outcome] = asks(inner, [request]) as [Outcome]
      const isDenied = outcome.limits.some(({ wait }) => wait !== 0)
      if (isDenied && request.parts.length > 1) {
        for (const part of request.parts)
          asks(inner, [{ shard: 0, grant: 'all', parts: [{ ...part, cost: 1000 }] }])
      }
      return outcome
    }),
})

/** All requests of a batch for one key get the answer to the first that is denied. */
const countingBatchesOnce: Broken = (inner) => ({
  consume: (batch) => {
    let denied: Outcome | undefined
    return batch.map((request) => {
      const isBlocking = request.grant === 'all' && request.parts[0]?.set.blockAfter !== undefined
      if (denied && isBlocking) return denied
      const [outcome] = asks(inner, [request]) as [Outcome]
      if (isBlocking && outcome.limits.some(({ wait }) => wait !== 0)) denied = outcome
      return outcome
    })
  },
})

/** Other sets of a key are blocked as the last one was. */
const blockingOthers: Broken = (inner) => {
  const last = new Map<string, LimitSet>()
  return parted(({ key, set }) => {
    const known = last.get(key)
    if (set.blockAfter) last.set(key, set)
    return set.blockAfter || !known ? {} : { set: { ...set, blockAfter: known.blockAfter } }
  })(inner)
}

let numbers = 0
const unblocked = (answer: (request: StoreRequest, ask: (one: object) => Outcome) => object): Broken => {
  return (inner) => ({
    consume: (batch) =>
      batch.map((request) => {
        const ask = (one: object): Outcome => (asks(inner, [one]) as [Outcome])[0]
        return (request.grant === 'unblock' ? answer(request, ask) : ask(request)) as Outcome
      }),
  })
}

const upToDenied: Broken = (inner) => ({
  consume: (batch) =>
    batch.map((request) => {
      const [first] = inner.peek([{ ...request, grant: 'all' } as StoreRequest]) as [Outcome]
      const isBlocked = request.grant === 'upTo' && first.limits.some(({ block }) => block)
      if (!isBlocked) return (asks(inner, [request]) as [Outcome])[0]
      return { at: first.at, limits: first.limits.map((limit) => ({ ...limit, granted: 0 })) }
    }),
})

export const faultsOfBlocks: readonly Fault[] = [
  ['denials block nobody', ruled(() => undefined), [/so many denials/, /a tally alone/, /each is longer/]],
  [
    'a block takes a denial more',
    ruled((rules) => ({ ...rules, denials: rules.denials + 1 })),
    [/so many denials/],
  ],
  [
    'every answer to a blocked key says that it began',
    blockTold((block) => ({ ...block, isNew: true })),
    [/so many denials/],
  ],
  [
    'no answer says that a block began',
    blockTold((block) => ({ ...block, isNew: undefined })),
    [/one answer says so/],
  ],
  ['blocks are not told', blockTold(() => undefined), [/so many denials/]],
  [
    'a blocked key has units left',
    (inner) => told(inner, ({ block }) => (block ? { remaining: 1 } : {})),
    [/so many/],
  ],
  [
    'the wait of a blocked key is not that of the block',
    (inner) => told(inner, ({ block }) => (block ? { wait: 5 } : {})),
    [/so many/],
  ],
  [
    'blocks stay as short as the first',
    ruled((rules) => ({ ...rules, forUs: rules.forUs.slice(0, 1) })),
    [/each is longer/],
  ],
  ['a block is forgotten at its end', ruled((rules) => ({ ...rules, forUs: [1000] })), [/so many/]],
  ['denials of a batch count once', countingBatchesOnce, [/one batch/]],
  ['a look counts', countingLooks, [/a look counts nothing/]],
  ['denials of keys that have nothing count', countingAll, [/has nothing/]],
  ['other sets of the key are blocked', blockingOthers, [/not for other sets/]],
  ['what takes as much as fits is denied by a block', upToDenied, [/only requests for the whole cost/]],
  ['a denial counts for all keys of its request', countingForAll, [/several keys/]],
  [
    'each report of a tally counts',
    parted(({ tally }) => (tally ? { tally: { ...tally, number: (numbers += 1) } } : {})),
    [/however often/],
  ],
  ['tallies are not counted', parted(() => ({ tally: undefined })), [/a tally alone/, /however often/]],
  [
    'unblock does nothing',
    unblocked((request, ask) => ({ ...ask({ ...request, grant: 'declare' }), wasBlocked: true })),
    [/unblock ends one/],
  ],
  [
    'unblock forgets the units, too',
    (inner) => ({
      ...unblocked((request, ask) => {
        const answer = ask(request)
        void inner.reset(
          request.parts.map(({ key }) => key),
          0,
        )
        return answer
      })(inner),
    }),
    [/unblock ends one/],
  ],
  [
    'unblock needs a set whose denials block',
    (inner) =>
      asked(
        inner,
        ofGrant('unblock', (request) =>
          request.parts[0]?.set.blockAfter
            ? request
            : { ...request, parts: request.parts.map((part) => ({ ...part, key: `${part.key}!` })) },
        ),
      ),
    [/unblock ends one/],
  ],
]
