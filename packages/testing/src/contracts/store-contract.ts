import type { Store } from '@tollgate/core'

type Batch = Parameters<Store['consume']>[0]
type Request = Batch[number]
type Outcome = Extract<Awaited<ReturnType<Store['consume']>>[number], { at: number }>

export interface StoreUnderTest {
  /** A store that nobody else writes to. */
  readonly store: Store
  /** A request for this many units of `key`, of one limit of 5 units a minute. */
  request(key: string, cost?: number): Request
}

/** What every store must do, whatever it keeps its counts in. Call it once for each store. */
export function storeContract(name: string, make: () => StoreUnderTest): void {
  describe(`store contract: ${name}`, () => {
    const keyOf = ({ parts }: Request): string => parts[0]?.key ?? ''
    const ask = async (how: 'consume' | 'peek', store: Store, ...batch: Request[]): Promise<Outcome[]> =>
      [...(await store[how](batch))].map((answer) => {
        if ('at' in answer) return answer
        throw answer
      })

    test('answers a batch in its order, each subject on its own', async () => {
      const { store, request } = make()
      const outcomes = await ask(
        'consume',
        store,
        request('a'),
        request('b', 5),
        request('a', 2),
        request('b'),
      )
      expect(outcomes.map(({ limits }) => limits[0]?.remaining)).toEqual([4, 0, 2, 0])
      expect(outcomes.map(({ limits }) => limits[0]?.wait === 0)).toEqual([true, true, true, false])
    })

    test('takes nothing for a request that does not fit, and what fits after it', async () => {
      const { store, request } = make()
      const outcomes = await ask('consume', store, request('a', 4), request('a', 2), request('a', 1))
      expect(outcomes.map(({ limits }) => limits[0]?.remaining)).toEqual([1, 1, 0])
    })

    test('of several keys of one request it takes all or nothing, if it is atomic', async () => {
      const { store, request } = make()
      if (!store.atomic) return
      const both = (cost: number): Request => ({
        ...request('a'),
        parts: ['a', 'b'].flatMap((key) => request(key, cost).parts),
      })
      const outcomes = await ask('consume', store, both(2), request('b', 2), both(2), request('a', 3))
      expect(outcomes.map(({ limits }) => limits.map(({ remaining }) => remaining))).toEqual([
        [3, 3],
        [1],
        [3, 1],
        [0],
      ])
      const [peeked] = await ask('peek', store, both(2))
      expect(peeked?.limits.map(({ wait }) => wait === 0)).toEqual([false, false])
    })

    test('says -1 for a cost that can never fit', async () => {
      const { store, request } = make()
      const [outcome] = await ask('consume', store, request('a', 6))
      expect(outcome?.limits).toEqual([{ wait: -1, remaining: 5, reset: 0 }])
    })

    test('peeks without taking', async () => {
      const { store, request } = make()
      await ask('consume', store, request('a', 2))
      const peeked = await ask('peek', store, request('a', 3), request('a', 4))
      expect(peeked.map(({ limits }) => [limits[0]?.wait === 0, limits[0]?.remaining])).toEqual([
        [true, 3],
        [false, 3],
      ])
    })

    test('gives units back, never more than were used, and revives nothing', async () => {
      const { store, request } = make()
      const { shard, parts } = request('a')
      const { key, set } = parts[0] as Request['parts'][number]
      const [outcome] = await ask('consume', store, request('a', 2))
      const { at, limits } = outcome as Outcome
      const { remaining = 0, reset = 0 } = limits[0] ?? {}
      const refund = { shard, parts: [{ key, set, receipts: [{ units: 9, at, remaining, reset }] }] }
      expect(await store.refund([refund])).toEqual([true])
      expect((await ask('peek', store, request('a')))[0]?.limits[0]?.remaining).toBe(5)
      expect(await store.refund([refund])).toEqual([false])
      await store.reset([key], shard)
      expect(await store.refund([refund])).toEqual([false])
    })

    test('forgets a subject that is reset, and no other', async () => {
      const { store, request } = make()
      await ask('consume', store, request('a', 5), request('b', 4))
      await store.reset([keyOf(request('a'))], request('a').shard)
      const peeked = await ask('peek', store, request('a'), request('b'))
      expect(peeked.map(({ limits }) => limits[0]?.remaining)).toEqual([5, 1])
    })
  })
}
