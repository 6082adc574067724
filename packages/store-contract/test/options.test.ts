// Stores that can do less than Redis, and say so: the contract then asks for what they promise, and for no less.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { memoryStore, type Store } from '@tollgate/core/store'
import { storeContract, type StoreContractOptions } from '../src/index.js'
import { counterStore } from './counter-store.js'

const COUNTERS = { windows: 'aligned', falseDenials: true } as const

/** A store with the methods of another, and none of its abilities. */
function plain(inner: Store): Store {
  return {
    synchronous: true,
    consume: (batch) => inner.consume(batch),
    peek: (batch) => inner.peek(batch),
    refund: (batch) => inner.refund(batch),
    reset: (keys, shard) => inner.reset(keys, shard),
  }
}

/** The messages of the checks that fail, by the name of the check. */
async function failures(make: () => Store, options?: StoreContractOptions): Promise<Map<string, string>> {
  const failed = new Map<string, string>()
  await Promise.all(
    storeContract(make, options).map(({ name, check }) =>
      check().catch(({ message }) => failed.set(name, message)),
    ),
  )
  return failed
}

describe('a store of counters, which takes a ticket and gives it back', () => {
  test('passes with its options', async () => {
    expect(await failures(() => counterStore(), COUNTERS)).toEqual(new Map())
  })

  test('does not pass without them: its windows begin elsewhere, and it denies what would fit', async () => {
    const names = [...(await failures(() => counterStore())).keys()].toSorted()
    expect(names).toEqual([
      expect.stringMatching(/force: counts units from the time/),
      expect.stringMatching(/all limits or from none, with many calls at once/),
    ])
  })

  test('is found out if it keeps what it denied', async () => {
    const names = [...(await failures(() => counterStore({ keepsDenied: true }), COUNTERS)).keys()]
    expect(names).toContainEqual(expect.stringMatching(/takes nothing for a request that does not fit/))
    expect(names).toContainEqual(expect.stringMatching(/all limits or from none, with many calls at once/))
  })

  test('is found out if it decides by what it read before', async () => {
    const failed = await failures(() => counterStore({ readsFirst: true }), COUNTERS)
    expect([...failed.keys()]).toContainEqual(
      expect.stringMatching(/exactly the quota of many calls at once/),
    )
    expect([...failed.values()]).toContainEqual(expect.stringMatching(/never more than the quota/))
  })
})

describe('a clock that may be wrong by 40 ms', () => {
  let reads = 0
  /** Goes back and forth, so that time stands still or jumps between two calls. */
  const wrong = (): number => Date.now() + ((reads += 1) % 2 === 0 ? 40 : 0)
  const name = /the clock counts µs and runs/
  /** Tries a clock that goes on by so much between the two looks of the check, however long that takes. */
  const clockCheck = (ranMs: number, options?: StoreContractOptions): Promise<void> => {
    const startMs = Date.now()
    // The store looks once when it is made.
    let looks = 0
    const make = (): Store => memoryStore({ now: () => startMs + ((looks += 1) > 2 ? ranMs : 0) })
    const check = storeContract(make, options).find((one) => name.test(one.name))
    return check?.check() as Promise<void>
  }

  test('is found out, unless the test says so', async () => {
    // The check waits for 50 ms, and for 80 ms more where that error is allowed.
    await expect(clockCheck(50 - 40)).rejects.toThrow(/the clock runs: `at` went on by/)
    await clockCheck(130 - 40, { clockErrorMs: 40 })
  })

  test('lets a store of counters pass all checks', async () => {
    const make = (): Store => counterStore({ now: wrong })
    expect(await failures(make, { ...COUNTERS, clockErrorMs: 40 })).toEqual(new Map())
  })

  test('may jump over the end of a window', async () => {
    // All windows of 300 ms end 20 ms after the store was made.
    const make = (): Store => {
      const shiftMs = 280 - (Date.now() % 300)
      return counterStore({ now: () => wrong() + shiftMs })
    }
    const checks = storeContract(make, { ...COUNTERS, clockErrorMs: 40 })
    const asTold = checks.find(({ name }) => name.includes('waits out a denial'))
    expect(await asTold?.check().then(() => 'passed')).toBe('passed')
  })
})

test('a failed check says what the contract asks for, what the store answered, and where that is written', async () => {
  const inner = memoryStore()
  const broken: Store = { ...plain(inner), consume: (batch) => inner.peek(batch) }
  const failed = await failures(() => broken)
  expect(failed.get('takes nothing for a request that does not fit, and then admits one that fits')).toBe(
    'units left after costs 4, 2 and 1 of a quota of 5: the contract asks for [ [ 1 ], [ 1 ], [ 0 ] ], the store answered ' +
      '[ [ 5 ], [ 5 ], [ 5 ] ] (https://github.com/tollgate-js/tollgate/blob/main/docs/reference/store-contract.md#the-contract)',
  )
})

test('every failed check leads to a heading of docs/reference/store-contract.md', async () => {
  const known = { version: 0, id: '' }
  const nothing: Store = {
    ...{
      synchronous: true,
      atomic: true,
      leases: true,
      holds: true,
      slots: true,
      blocks: true,
      observers: true,
      overage: true,
      accounts: true,
      billingDays: true,
    },
    consume: () => [],
    peek: () => [],
    refund: () => [],
    reset: () => false,
    rules: { sync: () => ({ at: 0, results: [], isWhole: false, entries: [], known, hasMore: false }) },
    board: { put: () => 0, read: () => [{ id: 'x', text: 'x' }] },
  }
  const messages = [...(await failures(() => nothing, { passTime: () => {} })).values()]
  expect(messages).toHaveLength(storeContract(() => nothing).length)
  const page = readFileSync(join(__dirname, '../../../docs/reference/store-contract.md'), 'utf8')
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, text = '']) =>
    text.toLowerCase().replaceAll(' ', '-'),
  )
  const anchors = new Set(
    messages.map((text) => /docs\/reference\/store-contract\.md#([a-z-]+)\)$/.exec(text)?.[1]),
  )
  expect(anchors.size).toBe(11)
  expect(headings).toEqual(expect.arrayContaining([...anchors]))
})

test('what a store throws in a check stays as it is', async () => {
  const down = new Error('no connection')
  const broken: Store = { ...plain(memoryStore()), synchronous: false, consume: () => Promise.reject(down) }
  const failed = await failures(() => broken)
  expect(new Set(failed.values())).toContain('no connection')
})

test.each<[given: unknown[], path: string, problem: RegExp]>([
  [[memoryStore()], 'make', /a function that makes a store/],
  [[memoryStore, { window: 'aligned' }], 'options.window', /no such option; there are passTime, windows/],
  [[memoryStore, { windows: 'first' }], 'options.windows', /'at-first-request' or 'aligned'/],
  [[memoryStore, { clockErrorMs: -1 }], 'options.clockErrorMs', /from 0/],
  [[memoryStore, { clockErrorMs: '5' }], 'options.clockErrorMs', /from 0/],
  [[memoryStore, { falseDenials: 1 }], 'options.falseDenials', /true or false/],
  [[memoryStore, { passTime: 5 }], 'options.passTime', /a function/],
])('storeContract(%p) is refused at once', (given, path, problem) => {
  const call = storeContract as (...args: unknown[]) => unknown
  expect(() => call(...given)).toThrow(
    expect.objectContaining({ code: 'ERR_TOLLGATE_CONFIG', path, problem: expect.stringMatching(problem) }),
  )
})
