import { eventually } from '@tollgate/testing'
import {
  createLimiter,
  memoryStore,
  redisStore,
  StoreError,
  type Limiter,
  type Store,
} from '../../src/index.js'
import { closesWithTest, connect, endFaults, server } from '../support/faults.js'
import { asyncStore } from '../support/stores.js'

afterEach(endFaults)

const ANSWERS: readonly (readonly [what: string, refund: () => unknown])[] = [
  ['no list', () => 7],
  ['nothing', () => undefined],
  ['an empty list', () => []],
  ['a list of what is neither true nor false', () => ['yes']],
  ['a list of an error', () => [new Error('broken')]],
  ['a list that throws when it is read', () => Object.defineProperty([true], 0, { get: fail })],
  ['what throws', fail],
]

function fail(): never {
  throw new Error('broken')
}

const limiterOn = (store: Store): Limiter =>
  createLimiter({ limit: '5/min', store, deadlineMs: 10_000, warnings: false })

/** The reasons of the failures that the limiter tells, each with the number of requests. */
function failuresOf(limiter: Limiter): [reason: string, requests: number][] {
  const failures: [string, number][] = []
  limiter.on('storeError', ({ reason }, requests) => failures.push([reason, requests]))
  return failures
}

describe.each(ANSWERS)("a user's own store that answers a refund with %s", (_, answer) => {
  test.each([
    ['a promise', () => asyncStore({ refund: async () => answer() as never })],
    ['a value', () => Object.assign(memoryStore(), { refund: () => answer() as never })],
  ])('as %s: the refund resolves to false, does not reject, and is told', async (__, makeStore) => {
    const limiter = limiterOn(makeStore())
    const failures = failuresOf(limiter)
    expect(await limiter.refund(await limiter.consume('acme'))).toBe(false)
    expect(failures).toEqual([['unknown', 1]])
    expect(limiter.stats().storeErrors).toBe(1)
    expect((await limiter.consume('acme')).allowed).toBe(true)
    await limiter.close()
  })
})

test('a request is answered even if reading the list of outcomes throws', async () => {
  const consume = async (): Promise<never> => ANSWERS[5]?.[1]() as never
  const limiter = limiterOn(asyncStore({ consume }))
  expect(await limiter.consume('acme')).toMatchObject({ allowed: true, source: 'local' })
  expect(limiter.stats().storeErrors).toBe(1)
  await limiter.close()
})

describe('a refund that fails again and again', () => {
  test('is told once for each reason', async () => {
    let reason: 'busy' | 'read-only' = 'busy'
    let tries = 0
    const refund = async (): Promise<StoreError[]> => {
      tries += 1
      return [new StoreError('no', { reason })]
    }
    const limiter = closesWithTest(limiterOn(asyncStore({ refund })))
    const failures = failuresOf(limiter)
    expect(await limiter.refund(await limiter.consume('acme'))).toBe(false)
    const triedUntil = (count: number): Promise<void> =>
      eventually(async () => {
        // An answer in between keeps the breaker closed.
        await limiter.peek('other')
        return tries >= count
      })
    await triedUntil(4)
    expect(failures).toEqual([['busy', 1]])
    reason = 'read-only'
    await triedUntil(tries + 3)
    expect(failures).toEqual([
      ['busy', 1],
      ['read-only', 1],
    ])
  })
})

describe('on Redis', () => {
  test('a value of another program is told of its refund alone', async () => {
    const client = connect((await server()).port)
    const limiter = closesWithTest(limiterOn(redisStore(client, { prefix: 'p' })))
    const decisions = await Promise.all(['a', 'b', 'c'].map((id) => limiter.consume(id)))
    const failures = failuresOf(limiter)
    await client.set('p/b', 'garbage')
    expect(await Promise.all(decisions.map((decision) => limiter.refund(decision)))).toEqual([
      true,
      false,
      true,
    ])
    expect(failures).toEqual([['foreign-value', 1]])
    expect(await limiter.refund({ id: 'b' }, 1)).toBe(false)
    expect(failures).toHaveLength(2)
  })

  test('a refund that Redis does not permit is told once, and counts once it does', async () => {
    const { port } = await server()
    const operator = connect(port)
    const limiter = closesWithTest(limiterOn(redisStore(connect(port))))
    const failures = failuresOf(limiter)
    const decision = await limiter.consume('acme')
    await operator.acl('SETUSER', 'default', '-set')
    expect(await limiter.refund(decision)).toBe(false)
    // Redis keeps one entry of its log for what it refuses again and again, with a count.
    const refused = async (): Promise<number> => {
      const log = (await operator.acl('LOG')) as unknown as (readonly unknown[])[]
      return Number(log[0]?.[1])
    }
    await eventually(async () => {
      await limiter.peek('acme')
      return (await refused()) >= 3
    })
    expect(failures).toEqual([['not-permitted', 1]])
    await operator.acl('SETUSER', 'default', '+set')
    await eventually(async () => expect((await limiter.peek('acme')).limits[0]?.used).toBe(0))
    expect(failures).toHaveLength(1)
  })
})
