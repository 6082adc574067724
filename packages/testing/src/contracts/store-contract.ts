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

    test('of several keys of one request it takes all or nothing, if it joins', async () => {
      const { store, request } = make()
      if (!store.joins) return
      const both = (cost: number): Request => ({ ...request('a', cost), also: [request('b', cost)] })
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
      const { key, set } = request('a')
      const [outcome] = await ask('consume', store, request('a', 2))
      const { at, limits } = outcome as Outcome
      const refund = { units: 9, at, remaining: limits[0]?.remaining ?? 0, reset: limits[0]?.reset ?? 0 }
      expect(await store.refund({ key, set, limits: [refund] })).toBe(true)
      expect((await ask('peek', store, request('a')))[0]?.limits[0]?.remaining).toBe(5)
      expect(await store.refund({ key, set, limits: [refund] })).toBe(false)
      await store.reset(key)
      expect(await store.refund({ key, set, limits: [refund] })).toBe(false)
    })

    test('forgets a subject that is reset, and no other', async () => {
      const { store, request } = make()
      await ask('consume', store, request('a', 5), request('b', 4))
      await store.reset(request('a').key)
      const peeked = await ask('peek', store, request('a'), request('b'))
      expect(peeked.map(({ limits }) => limits[0]?.remaining)).toEqual([5, 1])
    })
  })
}
