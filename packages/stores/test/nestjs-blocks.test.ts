// What @nestjs/throttler does with its storage beside counting: blocks, and several throttlers.
import { memoryStore, type Store } from '@tollgate/core'
import { tollgateStore, type Increment } from '@tollgate/stores/nestjs-throttler'
import { testPrefix, testRedisUrl } from '@tollgate/testing'
import type { App, Redises, Spec } from './apps/opened.ts'
import { startNest, type NestProcess } from './apps/serve-nest.ts'

const MINUTE = 60_000
let nest: NestProcess
let apps: App[] = []
beforeAll(() => {
  nest = startNest()
})
afterEach(async () => {
  await Promise.all(apps.map((app) => app.close()))
  apps = []
})
afterAll(() => nest.end())

async function open(spec: Omit<Spec, 'windowMs' | 'limit'>): Promise<App> {
  const options = { deadlineMs: 10_000 }
  const app = await nest.open({ windowMs: MINUTE, limit: 1, isTimed: true, options, ...spec })
  apps.push(app)
  return app
}

const ask = async ({ url }: App, header = 'retry-after'): Promise<[number, string | null]> => {
  const { status, headers } = await fetch(url)
  return [status, headers.get(header)]
}

const stores: [string, () => { redis?: Redises }][] = [
  ['memory', () => ({})],
  ['Redis', () => ({ redis: { ports: [Number(new URL(testRedisUrl()).port)], prefix: testPrefix() } })],
]

describe.each(stores)('in %s', (_, where) => {
  test('a block lasts from the first refused request, and others do not make it longer', async () => {
    const throttlers = [{ ttl: 10_000, limit: 2, blockDuration: MINUTE }]
    const app = await open({ more: { throttlers }, ...where() })
    expect([await ask(app), await ask(app), await ask(app)]).toEqual([
      [200, null],
      [200, null],
      [429, '60'],
    ])
    await app.passTime(30_000)
    expect(await ask(app)).toEqual([429, '30'])
    await app.passTime(29_999)
    expect(await ask(app)).toEqual([429, '1'])
    await app.passTime(1)
    // Those that were refused by it took nothing, though their window had room.
    expect([await ask(app), await ask(app), await ask(app)]).toEqual([
      [200, null],
      [200, null],
      [429, '60'],
    ])
  })

  test('blockDuration is ttl where it is not given, as in the package, and 0 is none', async () => {
    const app = await open({ more: { throttlers: [{ ttl: MINUTE, limit: 1 }] }, ...where() })
    const none = await open({
      more: { throttlers: [{ ttl: MINUTE, limit: 1, blockDuration: 0 }] },
      ...where(),
    })
    expect([await ask(app), await ask(none)]).toEqual([
      [200, null],
      [200, null],
    ])
    await Promise.all([app.passTime(20_000), none.passTime(20_000)])
    expect([await ask(app), await ask(none)]).toEqual([
      [429, '60'],
      [429, '40'],
    ])
    await Promise.all([app.passTime(40_000), none.passTime(40_000)])
    expect([await ask(app), await ask(none)]).toEqual([
      [429, '20'],
      [200, null],
    ])
  })

  test('a block shorter than the window ends when a request fits', async () => {
    const app = await open({
      more: { throttlers: [{ ttl: MINUTE, limit: 1, blockDuration: 5000 }] },
      ...where(),
    })
    await ask(app)
    expect(await ask(app)).toEqual([429, '60'])
    await app.passTime(MINUTE)
    expect(await ask(app)).toEqual([200, null])
  })

  test('several throttlers count apart, also by the same key', async () => {
    const throttlers = [
      { name: 'short', ttl: 1000, limit: 1, blockDuration: 0 },
      { name: 'long', ttl: MINUTE, limit: 2, blockDuration: 0 },
    ]
    const app = await open({ more: { throttlers }, ...where() })
    expect(await ask(app, 'x-ratelimit-remaining-long')).toEqual([200, '1'])
    expect(await ask(app, 'retry-after-short')).toEqual([429, '1'])
    await app.passTime(1000)
    expect(await ask(app, 'x-ratelimit-remaining-long')).toEqual([200, '0'])
    await app.passTime(1000)
    expect(await ask(app, 'retry-after-long')).toEqual([429, '58'])
  })

  test('a limit of 0 refuses all', async () => {
    const app = await open({ more: { throttlers: [{ ttl: MINUTE, limit: 0 }] }, ...where() })
    expect([await ask(app), await ask(app)]).toEqual([
      [429, '60'],
      [429, '60'],
    ])
  })
})

test('a block holds in every process', async () => {
  const throttlers = [{ ttl: 1000, limit: 1, blockDuration: MINUTE }]
  const redis = { ports: [Number(new URL(testRedisUrl()).port)], prefix: testPrefix() }
  const [one, other] = [
    await open({ more: { throttlers }, redis }),
    await open({ more: { throttlers }, redis }),
  ]
  expect([await ask(one), await ask(other)]).toEqual([
    [200, null],
    [429, '60'],
  ])
  await Promise.all([one.passTime(30_000), other.passTime(30_000)])
  expect([await ask(one), await ask(other)]).toEqual([
    [429, '30'],
    [429, '30'],
  ])
  await Promise.all([one.passTime(30_000), other.passTime(30_000)])
  expect(await ask(one)).toEqual([200, null])
})

test('a block that another process has lifted ends here within a second', async () => {
  let now = 1_800_000_000_000
  const storage = tollgateStore(memoryStore({ now: () => now }))
  const increment = async (): Promise<boolean> =>
    !(await storage.increment('acme', 1000, 1, MINUTE, 'default')).isBlocked
  expect([await increment(), await increment(), await increment()]).toEqual([true, false, false])
  await storage.limiter.reset({ id: 'default acme', kind: 'id' })
  expect(await increment()).toBe(false)
  now += 1000
  expect(await increment()).toBe(true)
})

test('Nest closes it with the application', async () => {
  const app = await nest.open({ windowMs: MINUTE, limit: 1 })
  expect(await app.close()).toBe('closed')
})

const wrong: [Increment, string][] = [
  [['acme', 1000, Number.NaN, 0, 'default'], 'limit: got NaN'],
  [['acme', 0, 5, 0, 'default'], 'ttl: got 0, expected a time in whole ms'],
  [['acme', 0.5, 5, 0, 'default'], 'ttl: got 0.5'],
  [['acme', 1000, 5, 0.5, 'default'], 'blockDuration: got 0.5'],
  [['acme', 1000, 5, 0, '\ud800'], 'expected well-formed text'],
]
test.each(wrong)('refused at a request: %j', async (given, message) => {
  const expected = { code: 'ERR_TOLLGATE_CONFIG', message: expect.stringContaining(message) }
  await expect(tollgateStore(memoryStore()).increment(...given)).rejects.toMatchObject(expected)
})

test('refused when it is made', () => {
  expect(() => tollgateStore(undefined as unknown as Store)).toThrow(/^store: got undefined/)
})
