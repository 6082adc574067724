// Lines of hundreds: what those who left had goes to who comes next, and a place costs the same wherever it is.
import { cases, testPrefix } from '@tollgate/testing'
import { memoryStore, redisStore, type Store } from '../../../src/index.js'
import type { LimitInput } from '../../../src/plans/limit/limit.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { StoreRequest } from '../../../src/stores/contract.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { orderFor, outcomeOf, requestOf, setOf, waiting } from '../../support/store-requests.js'

afterAll(closeBenches)

const TERMS = { delayUs: 60_000_000, slackUs: 50_000, most: 1000 }
const LONG = cases(120, 500)
/** A row of a place in the value of its subject. */
const BYTES_OF_PLACE = 28

const idOf = (n: number): string => `hold-${String(n).padStart(7, '0')}`

function placeOf(n: number, set: LimitSet): StoreRequest {
  const { delayUs, slackUs, most } = TERMS
  return {
    ...requestOf('k', set),
    hold: { kind: 'place', id: idOf(n), lengthUs: delayUs, slackUs, most },
  }
}

/** A subject whose clock stands still, and who used its limit up. */
async function lineIn(
  store: Store,
  ...limits: readonly LimitInput[]
): Promise<{ book(n: number): Promise<number | undefined>; leave(n: number): Promise<unknown> }> {
  const set = waiting(setOf(...limits), TERMS)
  let { hold } = await outcomeOf(store, placeOf(0, set))
  while (hold?.delayUs === 0) ({ hold } = await outcomeOf(store, placeOf(0, set)))
  return {
    book: async (n) => (await outcomeOf(store, placeOf(n, set))).hold?.delayUs,
    leave: (n) => {
      return outcomeOf(store, orderFor('k', set, { reports: [{ id: idOf(n), used: 0, left: 0 }] }))
    },
  }
}

const STORES: readonly (readonly [name: string, make: () => Store])[] = [
  ['memory', () => memoryStore({ now: () => START_MS })],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix(), now: () => START_MS })],
]
const LIMITS: readonly (readonly [name: string, limits: readonly LimitInput[]])[] = [
  ['a bucket', ['10/s burst 1']],
  ['three buckets', ['10/s burst 1', '700/min burst 2', '50000/h burst 3']],
  ['a bucket and a log', ['10/s burst 1', '1000/min']],
]

describe.each(STORES)('a long line in %s', (_, make) => {
  test.each(LIMITS)('of %s: who comes later gets the places of those who left', async (__, limits) => {
    const { book, leave } = await lineIn(make(), ...limits)
    const delays = new Map<number, number | undefined>()
    for (let n = 1; n <= LONG; n += 1) delays.set(n, await book(n))
    expect(delays.get(LONG)).toBe((LONG + 1) * 100_000)
    const left = [...delays.keys()].filter((n) => n % 3 === 0)
    for (const n of left) await leave(n)
    for (const n of left) expect(await book(LONG + n)).toBe(delays.get(n))
    expect(await book(3 * LONG)).toBe((LONG + 2) * 100_000)
    // Nobody else was moved.
    for (const n of [1, 2, LONG - 1]) expect(await book(n)).toBe(delays.get(n))
  })
})

test('a place costs the key of its subject 28 bytes, whatever is in line', async () => {
  const [redis, prefix] = [sharedRedis(), testPrefix()]
  const { book } = await lineIn(redisStore(redis, { prefix, now: () => START_MS }), '10/s burst 1')
  const bytes: number[] = []
  for (let n = 1; n <= 20; n += 1) {
    await book(n)
    const [key = ''] = await redis.keys(`${prefix}/[^!]*`)
    bytes.push(await redis.strlen(key))
  }
  const grown = bytes.slice(1).map((size, i) => size - (bytes[i] as number))
  expect(new Set(grown)).toEqual(new Set([BYTES_OF_PLACE]))
})
