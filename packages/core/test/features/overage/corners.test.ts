// Where limits with `overage` meet other features: options, remembered denials, several shards, headers, shares in an outage.
import {
  createLimiter,
  memoryStore,
  toHttpResponse,
  type Decision,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'
import { failingStore } from '../../../src/testing.js'
import { clusterStore, idsApart, recorded } from '../../support/shards.js'
import { asyncStore } from '../../support/stores.js'

const MONTHLY = { quota: 3, window: 'month', overage: true } as const

async function consume(limiter: Limiter, times: number, cost = 1): Promise<Decision[]> {
  const all: Decision[] = []
  for (let i = 0; i < times; i += 1) all.push(await limiter.consume('acme', { cost }))
  return all
}

const making = (options: object) => (): Limiter => createLimiter(options as LimiterOptions)

describe('options', () => {
  test.each([{}, { burst: 5 }, { algorithm: 'sliding-log' }, { mode: 'observe' }])(
    'overage: false is the default of any limit: %j',
    (more) => {
      expect(making({ limit: { quota: 3, window: 'min', overage: false, ...more } })).not.toThrow()
    },
  )

  test.each(['yes', 1, null, {}, 0, ''])('overage: %j is refused', (overage) => {
    const problem = /^limit\.overage: got .*, expected true or false$/
    expect(making({ limit: { quota: 3, window: 'month', overage } })).toThrow(problem)
  })

  test.each([
    [{ burst: 5 }, /^limit\.overage: got true, but only a fixed-window has overage/],
    [{ algorithm: 'sliding-log' }, /^limit\.overage: got true, but only a fixed-window has overage/],
    [{ mode: 'observe' }, /^limit\.overage: got true, but a limit with mode: 'observe' does not count/],
    [{ lease: true }, /^limit\.lease: units beyond a quota are counted at once/],
  ])('overage beside %j is refused', (more, problem) => {
    expect(making({ limit: { quota: 3, window: 'd', overage: true, ...more } })).toThrow(problem)
  })

  test('two limits of one window need two names, since neither replaces the other', () => {
    const larger = { ...MONTHLY, quota: 5 }
    for (const other of [MONTHLY, { quota: 3, window: 'month', mode: 'observe' }]) {
      expect(making({ limit: [other, larger] })).toThrow(
        /^limit\[1\]\.name: got 'month', expected a name that no other/,
      )
    }
  })

  test('its window does not bound how long requests wait', () => {
    const limits = [{ quota: 3, window: '1s', overage: true }, '100/min']
    expect(making({ plans: { line: { limits, wait: { maxDelay: '5s' } } } })).not.toThrow()
  })

  test.each([{ wait: { maxDelay: '5s' } }, { blockAfter: { denials: 1, within: '1min', for: ['1h'] } }])(
    'beside requests in flight alone, %j is refused as without it',
    (more) => {
      for (const limits of [['5 concurrent'], [MONTHLY, '5 concurrent']]) {
        expect(making({ plans: { free: { limits, ...more } } })).toThrow(/in flight/)
      }
    },
  )

  test('a reservation of more than a count holds is refused', async () => {
    const limiter = createLimiter({ limit: MONTHLY })
    await expect(limiter.reserve('acme', { cost: 10 ** 12 + 1, for: '10s' })).rejects.toMatchObject({
      ...{ code: 'ERR_TOLLGATE_COST', message: 'cost: got 1000000000001, expected at most 10^12 units' },
    })
    const { decision } = await limiter.reserve('acme', { cost: 10 ** 12, for: '10s' })
    expect(decision.allowed).toBe(true)
  })
})

describe('denials from memory', () => {
  test('they know what exceeds the quota', async () => {
    const limiter = createLimiter({ limit: [MONTHLY, '10/min'], store: asyncStore(), deadlineMs: 10_000 })
    await consume(limiter, 10)
    const [first, again] = (await consume(limiter, 2)) as [Decision, Decision]
    expect([first.source, again.source]).toEqual(['store', 'cache'])
    expect(again.limits.map(({ name, over }) => [name, over])).toEqual([
      ['month', 7],
      ['minute', undefined],
    ])
  })

  test.each([MONTHLY, { ...MONTHLY, quota: 1000 }, { quota: 3, window: 'month', mode: 'observe' }])(
    'beside %j, nothing is told that another process may have changed',
    async (limit) => {
      const inner = memoryStore()
      const [one, other] = [0, 1].map(() => {
        const store = asyncStore({}, inner)
        return createLimiter({
          limit: [limit as never, '10/min'],
          store,
          deadlineMs: 10_000,
          warnings: false,
        })
      }) as [Limiter, Limiter]
      await consume(one, 5)
      expect((await one.consume('acme', { cost: 6 })).violated).toEqual(['minute'])
      await consume(other, 4)
      const again = await one.consume('acme', { cost: 6 })
      expect(again.source).toBe('cache')
      expect([undefined, 1]).toContain(again.limits.find(({ name }) => name === 'minute')?.remaining)
    },
  )
})

test('over several shards, what can deny is asked first', async () => {
  const { store, asked } = recorded(clusterStore())
  const limiter = createLimiter({
    plans: { org: MONTHLY, seat: '9/min' },
    defaultPlan: 'org',
    store,
    denials: false,
  })
  const [org, seat] = idsApart(2)
  const both = [
    { id: org, plan: 'org' },
    { id: seat, plan: 'seat' },
  ] as never
  await limiter.consume(both, { cost: 9 })
  asked.length = 0
  // Also where its quota is the larger one.
  expect((await limiter.consume(both)).violated).toEqual(['seat.minute'])
  expect(asked.filter((one) => one.includes(String(org)))).toEqual([])
})

test('long headers keep the limits that can deny', async () => {
  const long = (name: string): string => name + '限'.repeat(58)
  const limits = [
    ...Array.from({ length: 12 }, (_, i) => ({ ...MONTHLY, quota: 1, name: long(`o${i}`) })),
    ...Array.from({ length: 3 }, (_, i) => ({ quota: 50 + i, window: 'min', name: long(`deny${i}`) })),
  ]
  const [, second] = await consume(createLimiter({ limit: limits as never }), 2)
  const { headers } = toHttpResponse(second as Decision)
  expect(headers['RateLimit-Remaining']).toBe('48')
  expect(headers['RateLimit']).toContain('deny0')
})

test('the shares of a process that limits alone do not say what exceeds them', async () => {
  const store = failingStore(memoryStore())
  const limiter = createLimiter({
    ...{ limit: [MONTHLY, '100/min'], store, deadlineMs: 200, local: { instances: 2 }, warnings: false },
  })
  await consume(limiter, 8)
  store.down()
  const [alone] = await consume(limiter, 1, 5)
  expect(alone).toMatchObject({ source: 'local', allowed: true })
  expect(alone?.localLimits?.map(({ over }) => over)).toEqual([undefined, undefined])
  await limiter.close()
})

test.each(['overage', 'watch', 'anchor', 'timeZone'])(
  'on a plan, %s is refused with where to write it',
  (name) => {
    const problem = new RegExp(`^plans\\.pro\\.${name}: .*write it in a limit`)
    expect(making({ plans: { pro: { limits: '5/month', [name]: true } } })).toThrow(problem)
  },
)
