import fc from 'fast-check'
import { testPrefix, cases } from '@tollgate/testing'
import { createLimiter, memoryStore, redisStore, type Limiter } from '../../src/index.js'
import { keysOf, subjectKey } from '../../src/requests/key.js'
import { compileScope } from '../../src/requests/scope.js'
import { closeBenches, sharedRedis } from '../support/benches.js'
import { closesWithTest } from '../support/faults.js'

afterAll(closeBenches)

const hostile = [
  'x'.repeat(1_000_000),
  'x'.repeat(1_000_001),
  '__proto__',
  'constructor',
  'toString',
  'a\r\nX-Injected: 1',
  '{a}',
  '}{',
  '{',
  '\u0000',
  '\ud800',
  '\udbff',
  'é',
  'e\u0301',
  ' acme',
  'acme ',
  'ACME',
  '@127.0.0.1',
  '#acme',
  '*',
]

describe('law 10, bounded size', () => {
  test('any id gives a bounded key of printable ASCII without a hash tag', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constantFrom(...hostile)),
        (id) => {
          expect(subjectKey({ id })).toMatch(/^[\w.+\-/:|~@#=,]{1,64}$/)
        },
      ),
      { numRuns: cases(100, 2000) },
    )
  })

  test('no two ids share a key, whatever their kind', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        if (a !== b) expect(subjectKey({ id: a })).not.toBe(subjectKey({ id: b }))
        expect(subjectKey({ id: a, kind: 'ip' })).not.toBe(subjectKey({ id: a }))
      }),
      { numRuns: cases(100, 2000) },
    )
    const kinds = ['id', 'ip'] as const
    const keys = hostile.flatMap((id) => kinds.map((kind) => subjectKey({ id, kind })))
    expect(new Set(keys).size).toBe(keys.length)
    expect(subjectKey({ id: '127.0.0.1', kind: 'ip' })).not.toBe(subjectKey({ id: '@127.0.0.1' }))
  })

  test('no name of a limiter, id, group or stacked limit makes a key of another', () => {
    const name = fc.stringMatching(/^[\w.-]{1,32}$/)
    const id = fc.oneof(
      fc.string({ unit: 'binary' }),
      name,
      fc.constantFrom('acme', 'a^b', 'login^acme', '!instances'),
    )
    const counter = fc.record({
      limiter: fc.option(name, { nil: undefined }),
      subject: fc.record({ id, kind: fc.constantFrom('id' as const, 'ip' as const) }),
      scope: fc.oneof(
        fc.constant({}),
        fc.record({ group: name }),
        name.map((stacked) => ({ stacked: { [stacked]: '1/min' } })),
      ),
    })
    type Counter = typeof counter extends fc.Arbitrary<infer T> ? T : never
    /** What it is, and its key. */
    const told = ({ limiter, subject, scope }: Counter): [string, string] => {
      const { suffix, stacked } = compileScope(scope)
      const own = stacked[0]?.suffix ?? suffix
      const what = JSON.stringify([limiter, subject.id, subject.kind, own])
      return [what, keysOf(limiter) + subjectKey(subject) + own]
    }
    /** One whose id is made of the key of another, and which may share the rest with it. */
    const attackOn = (other: Counter): fc.Arbitrary<Counter> => {
      const [, key] = told(other)
      const plain = subjectKey(other.subject)
      const group = /^[\w.-]{1,32}$/.test(plain) ? plain : 'g'
      return fc.record({
        limiter: fc.constantFrom(undefined, other.limiter),
        subject: fc.record({
          id: fc.constantFrom(
            other.limiter ?? 'a',
            key,
            key.slice(1),
            keysOf(other.limiter) + plain,
            key.slice(key.indexOf(plain)),
          ),
          kind: fc.constantFrom('id' as const, 'ip' as const),
        }),
        scope: fc.constantFrom({}, other.scope, { group }, { stacked: { [group]: '1/min' } }),
      })
    }
    const pair = counter.chain((one) => fc.tuple(fc.constant(one), fc.oneof(counter, attackOn(one))))
    const swapped = compileScope({ group: 'b', stacked: { b: '1/min' } })
    for (const suffix of [swapped.suffix, swapped.stacked[0]?.suffix ?? '']) {
      expect(keysOf('a') + subjectKey({ id: 'b' })).not.toBe(subjectKey({ id: 'a' }) + suffix)
    }
    const ours = ['!probe', '!instances', `${keysOf('a')}!instances`]
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const [[first, firstKey], [second, secondKey]] = [told(one), told(other)]
        expect(firstKey === secondKey).toBe(first === second)
        expect(firstKey).toMatch(/^[\w.+\-/:|~@#,*!^][\w.+\-/:|~@#=,*!^]{0,130}$/)
        expect(ours).not.toContain(firstKey)
      }),
      { numRuns: cases(700, 5000) },
    )
  })

  const limiters: [string, () => Limiter][] = [
    ['memory', () => createLimiter({ limit: '1/min', store: memoryStore() })],
    [
      'redis',
      () =>
        closesWithTest(
          createLimiter({
            limit: '1/min',
            store: redisStore(sharedRedis(), { prefix: testPrefix() }),
            deadlineMs: 10_000,
          }),
        ),
    ],
  ]

  test.each(limiters)('each hostile id is a subject of its own: %s', async (_, make) => {
    const limiter = make()
    for (const expected of [true, false]) {
      const decisions = await Promise.all(hostile.map((id) => limiter.consume(id)))
      expect(decisions.map(({ allowed }) => allowed)).toEqual(hostile.map(() => expected))
      expect(decisions.every(({ source }) => source === 'store')).toBe(true)
    }
  })

  test('names of object members are plans when they are given, else unknown plans', async () => {
    const limiter = closesWithTest(
      createLimiter({
        plans: { constructor: '5/min', free: '1/min' },
        defaultPlan: 'free',
        warnings: false,
      }),
    )
    const planOf = async (plan: string): Promise<string> => (await limiter.peek({ id: 'acme', plan })).plan
    expect(await Promise.all(['constructor', '__proto__', 'toString', 'hasOwnProperty'].map(planOf))).toEqual(
      ['constructor', 'free', 'free', 'free'],
    )
  })
})
