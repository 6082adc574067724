// Requests that still run when their limiter is closed: what ends before it has closed is told, and nothing afterwards.
import { eventually, testPrefix } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Limiter, type Store } from '../../../src/index.js'
import type { StoreRequest } from '../../../src/store.js'
import { closeBenches, redisOfAnotherProcess } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'

afterAll(closeBenches)

interface Place {
  readonly limiter: Limiter
  /** What the store was asked, such as `release 1`: a grant, and how many slots are told. */
  readonly asked: string[]
}

function placeOn(store: Store): Place {
  const asked: string[] = []
  const textOf = ({ grant, parts }: StoreRequest): string => `${grant} ${parts[0]?.slots?.held}`
  const consume: Store['consume'] = (batch, call) => {
    asked.push(...batch.map(textOf))
    return store.consume(batch, call)
  }
  const spied = { ...asyncStore({}, store), ...(store.synchronous && { synchronous: true }), consume }
  const options = {
    limit: '3 concurrent',
    deadlineMs: 10_000,
    onStoreFailure: 'closed',
    warnings: false,
  } as const
  return { limiter: createLimiter({ ...options, store: spied as Store }), asked }
}

const stores: readonly (readonly [where: string, make: () => Store])[] = [
  ['memory', () => memoryStore()],
  ['a store that answers later', () => asyncStore()],
  ['Redis', () => redisStore(redisOfAnotherProcess(), { prefix: testPrefix() })],
]

describe.each(stores)('in %s', (_, make) => {
  test('nothing is asked after the limiter has closed, whatever ends then', async () => {
    const { limiter, asked } = placeOn(make())
    const held = [
      await limiter.consume('acme'),
      await limiter.consume('acme'),
      await limiter.consume('other'),
    ]
    held.shift()?.release()
    await limiter.close()
    expect(asked.slice(3)).toEqual(['release 1'])
    const timers = process
      .getActiveResourcesInfo()
      .filter((what) => what === 'Timeout' || what === 'Immediate')
    expect(held.map((decision) => decision.release())).toEqual([true, true])
    expect(held.map((decision) => decision.release())).toEqual([false, false])
    expect(limiter.stats().inFlight).toBe(0)
    // Nothing is left that would ask later.
    const left = process.getActiveResourcesInfo().filter((what) => what === 'Timeout' || what === 'Immediate')
    expect(left.length).toBeLessThanOrEqual(timers.length)
    expect(asked.slice(4)).toEqual([])
  })
})

test('what ends while the limiter is closing is told', async () => {
  const inner = memoryStore()
  let answer = (): void => {}
  const slow = asyncStore(
    {
      consume: async (batch) => {
        const isLast = batch.some(({ parts }) => parts[0]?.key.includes('last'))
        if (isLast) await new Promise<void>((resolve) => (answer = resolve))
        return inner.consume(batch)
      },
    },
    inner,
  )
  const { limiter, asked } = placeOn(slow)
  const held = await limiter.consume('acme')
  const last = limiter.consume('last')
  await eventually(() => expect(asked).toHaveLength(2))
  const closed = limiter.close()
  held.release()
  answer()
  // It began before the limiter was closed, and runs on.
  expect((await last).allowed).toBe(true)
  await closed
  expect(asked.slice(2)).toEqual(['release 0'])
})
