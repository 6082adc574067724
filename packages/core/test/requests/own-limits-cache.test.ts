// Limits that come with a subject are compiled once, and found again by what they say.
import { createLimiter, memoryStore, type Limiter } from '../../src/index.js'
import { OwnPlans } from '../../src/requests/plan/own-plans.js'
import type { LimitSet, Store } from '../../src/store.js'
import type { OwnLimits } from '../../src/plans/own-limits.js'

/** A limiter, and the sets of limits that its store was asked for. */
function watched(): { limiter: Limiter; sets: LimitSet[] } {
  const inner = memoryStore()
  const sets: LimitSet[] = []
  const store: Store = {
    synchronous: true,
    atomic: true,
    consume(batch) {
      for (const { parts } of batch) sets.push(...parts.map(({ set }) => set))
      return inner.consume(batch)
    },
    peek: (batch) => inner.peek(batch),
    refund: (batch) => inner.refund(batch),
    reset: (keys, shard) => inner.reset(keys, shard),
  }
  return { limiter: createLimiter({ limit: '5/min', store }), sets }
}

describe('compiled once', () => {
  test.each<[what: string, limits: () => OwnLimits]>([
    ['a text', () => '40/min'],
    ['a list', () => ['40/min', '1000/day']],
    ['options', () => ({ quota: 4, window: 'month', anchor: 31, timeZone: 'Europe/Berlin' })],
    ['a date', () => [{ quota: 4, window: 'week', algorithm: 'fixed-window', anchor: new Date(1e12) }]],
    ['a lease', () => [{ quota: 4000, window: 'min', lease: { maxMs: 200 } }]],
  ])('equal limits are one plan for all subjects: %s', async (_, limits) => {
    const { limiter, sets } = watched()
    for (const id of ['a', 'b', 'a']) await limiter.consume({ id, limits: limits() })
    expect(new Set(sets).size).toBe(1)
  })

  test('different ones are not, however alike they look', async () => {
    const { limiter, sets } = watched()
    const different: OwnLimits[] = [
      '4/min',
      '40/min',
      ['4/min', '40/h'],
      ['40/h', '4/min'],
      { quota: 4, window: 60_000 },
      { quota: 4, window: '60000 ms' },
      { quota: 4, window: 'min', name: '4' },
      { quota: 4, window: 'min', name: '4/min' },
      { quota: 4000, window: 'min', lease: true },
      { quota: 4000, window: 'min', lease: false },
      { quota: 4, window: 'week', algorithm: 'fixed-window', anchor: 1 },
      { quota: 4, window: 'week', algorithm: 'fixed-window', anchor: new Date(1e12) },
      { quota: 4, window: 'week', algorithm: 'fixed-window', anchor: new Date(1e12 + 864e5) },
    ]
    for (const limits of different) await limiter.consume({ id: 'acme', limits })
    expect(new Set(sets).size).toBe(different.length)
    // A text and a list that could be read as the list that is known.
    for (const limits of ['[5:4/min4:40/h', ['4/mi', 'n40/h']]) {
      expect(() => limiter.consume({ id: 'acme', limits })).toThrow('subject.limits')
    }
  })

  test('lists that begin alike are told apart, whatever else is in them', async () => {
    const limiter = createLimiter({ limit: '5/min' })
    const quotas = async (limits: OwnLimits): Promise<unknown[]> =>
      (await limiter.consume({ id: 'acme', limits })).limits.map(({ quota }) => quota)
    const lists: [OwnLimits, number[]][] = [
      [
        ['40/min', '9/h', '20/d'],
        [40, 9, 20],
      ],
      [
        ['40/min', '9/h', '21/d'],
        [40, 9, 21],
      ],
      [
        ['40/min', '9/h'],
        [40, 9],
      ],
      [
        ['40/min', { quota: 8, window: 'h' }],
        [40, 8],
      ],
      [['40/min'], [40]],
    ]
    for (const [limits, expected] of [...lists, ...lists.toReversed(), ...lists]) {
      expect(await quotas(limits)).toEqual(expected)
    }
  })

  test('a list that its owner changes holds as it is now', async () => {
    const limiter = createLimiter({ limit: '5/min' })
    const limits = ['40/min']
    const quotas = async (): Promise<unknown[]> =>
      (await limiter.consume({ id: 'acme', limits })).limits.map(({ quota }) => quota)
    expect(await quotas()).toEqual([40])
    limits[0] = '50/min'
    limits.push('9/h')
    expect(await quotas()).toEqual([50, 9])
  })

  test('options in a list that their owner changes hold as they are now', async () => {
    const limiter = createLimiter({ limit: '5/min' })
    const second = { quota: 9, window: 'h' as const }
    const limits: OwnLimits = ['40/min', second]
    const quotas = async (): Promise<unknown[]> =>
      (await limiter.consume({ id: 'acme', limits })).limits.map(({ quota }) => quota)
    expect(await quotas()).toEqual([40, 9])
    second.quota = 8
    expect(await quotas()).toEqual([40, 8])
  })

  test.each<[what: string, make: (quota: () => number) => OwnLimits]>([
    [
      'options',
      (quota) =>
        Object.defineProperty({ window: 'min' }, 'quota', { get: quota, enumerable: true }) as OwnLimits,
    ],
    [
      'a list',
      (quota) =>
        Object.defineProperty(['40/min'], 1, { get: () => `${quota()}/h`, enumerable: true }) as OwnLimits,
    ],
  ])('a getter that gives each reader something else changes no limits but its own: %s', async (_, make) => {
    const limiter = createLimiter({ limit: '5/min' })
    for (let from = 1; from <= 4; from += 1) {
      let read = 0
      await limiter.consume({ id: 'mallory', limits: make(() => (++read > from ? 1_000_000 : 3)) })
      const honest = make(() => 3)
      const { limits } = await limiter.consume({ id: `acme-${from}`, limits: honest })
      expect([from, limits.at(-1)?.quota]).toEqual([from, 3])
    }
  })

  test('they are bounded in number: those unused longest are compiled again, with one warning', () => {
    const warned: string[] = []
    const made = new OwnPlans({
      defaults: {},
      check: () => {},
      warn: (code) => void warned.push(code),
    })
    const [used, unused] = [made.ofSubject('1/d'), made.ofSubject('2/d')]
    for (let i = 1; i < 9_000; i += 1) made.ofSubject(`${i}/h`)
    expect([made.ofSubject('1/d') === used, made.ofSubject('2/d') === unused]).toEqual([true, true])
    for (let i = 9_000; i < 19_998; i += 1) made.ofSubject(`${i}/h`)
    expect([made.ofSubject('1/d') === used, warned]).toEqual([true, []])
    for (let i = 19_998; i < 41_000; i += 1) made.ofSubject(`${i}/h`)
    expect([made.ofSubject('2/d') === unused, warned]).toEqual([false, ['TOLLGATE_LIMITS']])
  })
})
