// Bad input to the methods for rules: each is refused with an error that says what to write, and changes nothing.
import { createLimiter, memoryStore, type Limiter, type LimiterOptions } from '../../../src/index.js'
import { closeBenches } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'
import { listed, memoryBench, redisBench, type RuleBench } from './rule-bench.js'

afterAll(closeBenches)

const plans = { plans: { free: '4/min', premium: '10/min' }, defaultPlan: 'free', limit: undefined } as const
const HOUR = { for: '1h' } as const

/** Calls with anything, as JavaScript can. */
type Loose = Record<string, (...args: unknown[]) => Promise<unknown>>

let bench: RuleBench
let limiter: Limiter
let loose: Loose
const unhandled: unknown[] = []
const onUnhandled = (reason: unknown): void => void unhandled.push(reason)

describe.each([
  ['memory', memoryBench],
  ['redis', redisBench],
])('on %s', (_, makeBench) => {
  beforeEach(() => {
    process.on('unhandledRejection', onUnhandled)
    bench = makeBench()
    limiter = bench.limiter(plans)
    loose = limiter as unknown as Loose
  })
  afterEach(async () => {
    expect(await listed(limiter)).toEqual([])
    await bench.close()
    // Rejections that nobody handles are reported after a turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', onUnhandled)
    expect(unhandled.splice(0)).toEqual([])
  })

  const refused = async (
    [method, ...args]: readonly [string, ...unknown[]],
    message: RegExp,
    code = 'ERR_TOLLGATE_CONFIG',
  ): Promise<void> => {
    const error: unknown = await loose[method]?.(...args).then(
      () => new Error(`${method} was not refused`),
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) })
    expect((error as Error).message.length).toBeLessThan(600)
  }

  test('when a rule ends', async () => {
    const cases: [object, RegExp][] = [
      [
        { until: new Date(Date.now() - 60_000) },
        /until: got .*, expected a time to come: by the store's clock it is/,
      ],
      [{ until: 1 }, /a time to come/],
      [{}, /for: a rule needs an end: write for: '1h', or until:/],
      [{ for: '1h', until: '2027-01-31T18:00:00Z' }, /there is also until, and only one can apply/],
      [{ for: '401d' }, /a time from 1 ms to 400 d/],
      [
        { until: new Date(Date.now() + 401 * 86_400_000) },
        /until: got .*, expected a time within 400 days from now/,
      ],
      [{ until: '2030-12-04T18:00:00' }, /a time with its time zone, such as '2027-01-31T18:00:00Z'/],
      [{ until: '2030-02-30T18:00:00Z' }, /a time on a day that exists, such as '2027-01-31T18:00:00Z'/],
      [{ until: '2030-12-04' }, /a time with its time zone, such as '2027-01-31T18:00:00Z'/],
      [{ until: new Date(NaN) }, /until/],
      [{ until: Infinity }, /until/],
      [{ until: 'tomorrow Z' }, /until/],
      [{ until: {} }, /until/],
      [{ until: Symbol('u') }, /until/],
      [{ until: Object.create(Date.prototype) }, /until/],
      [{ until: 10n }, /until/],
      [{ for: 0 }, /from 1 ms/],
      [{ for: -1 }, /from 1 ms/],
      [{ for: NaN }, /from 1 ms/],
      [{ for: Infinity }, /from 1 ms/],
      [{ for: '1 fortnight' }, /from 1 ms/],
      [{ for: null }, /from 1 ms/],
      [{ ttl: '1h' }, /write for: '1h'/],
    ]
    for (const [options, message] of cases) {
      await refused(['block', 'acme', options], message)
      await refused(['override', 'acme', { factor: 2, ...options }], message)
      await refused(['scale', 'free', 2, options], message)
    }
  })

  test('factors, plans and limits', async () => {
    for (const factor of [0, -1, NaN, Infinity, 1001, 0.0009, '2', null, 2n, Symbol('f')]) {
      await refused(
        ['override', 'acme', { factor, ...HOUR }],
        /factor: got .*, expected a number from 0.001 to 1000/,
      )
      await refused(['override', 'acme', { concurrentFactor: factor, ...HOUR }], /concurrentFactor: got/)
      await refused(['scale', 'free', factor, HOUR], /factor: got/)
    }
    await refused(['scale', 'free', undefined, HOUR], /factor: got undefined/)
    await refused(['override', 'acme', HOUR], /write what to override: \{ factor: 2 \}/)
    await refused(
      ['override', 'acme', { plan: 'premum', ...HOUR }],
      /plan: got 'premum', expected .*'premium'/,
    )
    await refused(['scale', 'fre', 2, HOUR], /plan: got 'fre', expected .*'free'/)
    await refused(['scale', Symbol('p'), 2, HOUR], /plan: got/)
    await refused(['override', 'acme', { plan: 'free', limits: ['1/min'], ...HOUR }], /only one can apply/)
    for (const limits of ['5 bananas', [], {}, [7], null, ['5/min', Symbol('l')]]) {
      await refused(['override', 'acme', { limits, ...HOUR }], /limits|plan/)
    }
  })

  test('notes for people', async () => {
    for (const note of ['x'.repeat(1_000_000), '', 'a\nb', 7, {}, Symbol('n'), null]) {
      await refused(
        ['block', 'acme', { ...HOUR, by: note }],
        /by: got .*, expected who does this.*1 to 200 characters/,
      )
      await refused(['block', 'acme', { ...HOUR, reason: note }], /reason: got .*, expected why/)
      await refused(['unblock', 'acme', { by: note }], /by: got .*, expected who does this/)
    }
    const rule = await limiter.block('acme', HOUR)
    for (const note of ['ops', null, 7, { who: 'ops' }, { by: '' }]) {
      await refused(['unblock', 'acme', note], /note|who|by: got/)
      await expect(rule.lift(note as object)).rejects.toThrow(/note|who|by: got/)
    }
    expect(await rule.lift({ by: 'ops' })).toBe(true)
  })

  test('subjects and beginnings of ids', async () => {
    await refused(['block', '*', HOUR], /'\*' is every subject: scale a plan, or write setPlans/)
    for (const text of ['a*b*', 'tri*al', '*-trial']) {
      await refused(['block', text, HOUR], /the first 1 to 64 characters.*\{ id: '/)
      await refused(['unblock', text], /the first 1 to 64 characters/)
    }
    const ofIpv6 = ['2001:db8:*', '2001:db8::*', 'fd00::*', 'fe80::1*']
    for (const network of ['192.0.2.0/24', '10.0.*', '10.*', '192.0.2.1*', ...ofIpv6]) {
      await refused(['block', network, HOUR], /use subjectForIp for one address, and the option blockList/)
    }
    for (const text of ['team:*', 'v1.2*', '2024.*', 'a/24', '1.2.3/24']) {
      expect(await (await limiter.block(text, HOUR)).lift()).toBe(true)
    }
    await refused(['block', `${'x'.repeat(65)}*`, HOUR], /the first 1 to 64 characters/)
    await refused(['block', `${'x'.repeat(1_000_000)}*`, HOUR], /the first 1 to 64 characters/)
    await refused(['block', 'a\n*', HOUR], /the first 1 to 64 characters/)
    for (const subject of [undefined, null, '', NaN, {}, { id: '' }, ['acme'], Symbol('s'), () => 'acme']) {
      for (const method of ['block', 'override', 'unblock']) {
        await refused([method, subject, { factor: 2, ...HOUR }], /./, 'ERR_TOLLGATE_SUBJECT')
      }
    }
  })

  test('options that are none, promises, getters and proxies that throw', async () => {
    const thrower = new Proxy(
      {},
      {
        get: () => {
          throw new Error('a trap')
        },
        ownKeys: () => {
          throw new Error('a trap')
        },
      },
    )
    const getter = Object.defineProperty({}, 'for', {
      enumerable: true,
      get: () => {
        throw new Error('a getter')
      },
    })
    const rejected = (): Promise<never> => Promise.reject(new Error('by mistake'))
    for (const options of [undefined, null, '1h', 7, [], () => '1h', thrower, getter]) {
      await expect(loose['block']?.('acme', options)).rejects.toThrow()
    }
    await expect(loose['block']?.('acme', rejected())).rejects.toThrow()
    await expect(loose['block']?.('acme', { for: rejected() })).rejects.toThrow()
    await expect(loose['block']?.('acme', { ...HOUR, by: rejected() })).rejects.toThrow()
    for (const subject of [() => thrower, rejected, () => ({ id: rejected() })]) {
      await expect(loose['block']?.(subject(), HOUR)).rejects.toThrow()
      await expect(loose['unblock']?.(subject())).rejects.toThrow()
      await expect(loose['override']?.(subject(), { ...HOUR, factor: 2 })).rejects.toThrow()
    }
    await expect(loose['override']?.('acme', { ...HOUR, factor: rejected() })).rejects.toThrow()
    await expect(loose['override']?.('acme', { ...HOUR, limits: rejected() })).rejects.toThrow()
    await expect(loose['override']?.('acme', { ...HOUR, plan: rejected() })).rejects.toThrow()
    await expect(loose['scale']?.(rejected(), 2, HOUR)).rejects.toThrow()
    await expect(loose['scale']?.('free', rejected(), HOUR)).rejects.toThrow()
    await expect(loose['scale']?.('free', 2, rejected())).rejects.toThrow()
    await expect(listed(limiter, rejected() as never)).rejects.toThrow()
  })

  test('ids with any characters and of any length have rules', async () => {
    for (const id of ['a\nb\r\0', 'x'.repeat(1_000_000), '\ud800', 'trial-*', '{}', '#', '^', 7]) {
      const subject = { id: id as string }
      const rule = await limiter.block(subject, HOUR)
      expect(rule.of.length).toBeLessThanOrEqual(128)
      expect(await limiter.consume(subject)).toMatchObject({ allowed: false, source: 'rule' })
      expect(await limiter.consume({ id: `${id}x` })).toMatchObject({ allowed: true })
      expect(await limiter.unblock(subject)).toBe(true)
    }
  })

  test('the rule after the 10 000th is refused, and nothing is lost', async () => {
    const ids = Array.from({ length: 10_000 }, (_unused, i) => `id-${i}`)
    const each = async (change: (id: string) => Promise<unknown>): Promise<void> => {
      for (let from = 0; from < ids.length; from += 100)
        await Promise.all(ids.slice(from, from + 100).map(change))
    }
    await each((id) => limiter.block(id, HOUR))
    await refused(['block', 'one-more', HOUR], /there are 10000 rules already/)
    expect(await limiter.consume('one-more')).toMatchObject({ allowed: true })
    expect(await limiter.block('id-7', { ...HOUR, by: 'ops' })).toMatchObject({ by: 'ops' })
    expect(await listed(limiter)).toHaveLength(10_000)
    expect(await limiter.consume('id-9999')).toMatchObject({ allowed: false })
    await each((id) => limiter.unblock(id))
  }, 120_000)

  test('with hashIds beginnings of ids are refused, and the list has no id in clear', async () => {
    const hidden = bench.limiter({ ...plans, name: 'hidden', hashIds: 'a secret of 32 characters, or more' })
    const wanted = /ids are hashed \(hashIds\), so no beginning of them is known; \{ id: 'acme-\*' \} means/
    await expect(hidden.block('acme-*', HOUR)).rejects.toMatchObject({
      message: expect.stringMatching(wanted),
    })
    const rules = [
      await hidden.block('acme-7', HOUR),
      await hidden.override({ id: 'acme-8', plan: 'premium' }, { factor: 2, ...HOUR }),
      await hidden.block({ id: 'acme-*' }, HOUR),
    ]
    await hidden.forgetPlan('acme-9', { everywhere: true })
    expect(JSON.stringify(rules)).not.toContain('acme')
    expect(JSON.stringify(await listed(hidden))).not.toContain('acme')
    expect(await listed(hidden, 'acme-7')).toHaveLength(1)
    expect(await hidden.consume('acme-7')).toMatchObject({ allowed: false, block: { of: rules[0]?.of } })
  })
})

test('a store without rules says which stores have them', async () => {
  const without = createLimiter({ limit: '5/min', store: asyncStore({ blocks: false }) } as LimiterOptions)
  const wanted = {
    code: 'ERR_TOLLGATE_CONFIG',
    message: expect.stringContaining(
      'this store keeps no rules: use redisStore, or for a single process memoryStore',
    ),
  }
  await expect(without.block('acme', HOUR)).rejects.toMatchObject(wanted)
  await expect(without.unblock('acme')).rejects.toMatchObject(wanted)
  await expect(without.override('acme', { factor: 2, ...HOUR })).rejects.toMatchObject(wanted)
  await expect(without.scale('default', 2, HOUR)).rejects.toMatchObject(wanted)
  await expect(without.forgetPlan('acme', { everywhere: true })).rejects.toMatchObject(wanted)
  await expect(listed(without)).rejects.toMatchObject(wanted)
  expect(without.health()).toEqual({ status: 'ok', openShards: [] })
  without.forgetPlan('acme')
  await without.close()
})

test.each([null, {}, { sync: 1 }, true])('a store whose rules are %p is refused', (rules) => {
  expect(() => createLimiter({ limit: '5/min', store: asyncStore({ rules } as never) })).toThrow(
    expect.objectContaining({
      code: 'ERR_TOLLGATE_CONFIG',
      path: 'store.rules',
      message: expect.stringContaining('an object with a method sync, or nothing'),
    }),
  )
})

test('a limiter of another store has other rules', async () => {
  const [one, other] = [memoryStore(), memoryStore()].map((store) => createLimiter({ limit: '5/min', store }))
  await one?.block('acme', HOUR)
  expect(await other?.consume('acme')).toMatchObject({ allowed: true })
})
