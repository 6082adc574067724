// What every drop-in store must do, through the middleware of its package, over real HTTP.
import {
  deployCluster,
  deployOne,
  eventually,
  testPrefix,
  testRedisUrl,
  type Deployment,
} from '@tollgate/testing'
import type { App, Redises, Spec } from './apps/opened.ts'

const MINUTE = 60_000

export interface DropIn {
  open(spec: Spec): Promise<App>
  /** How the package names the header of what is left. */
  readonly remaining: (response: Response) => number
  /** Tries also what the stores of all packages have in common. One package is enough for that. */
  readonly isWhole?: boolean
}

export function dropInContract({ open, remaining, isWhole = false }: DropIn): void {
  const opened: App[] = []
  const serve = async (spec: Spec): Promise<App> => {
    const app = await open(spec)
    opened.push(app)
    return app
  }
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((app) => app.close()))
  })
  const get = ({ url }: App, key = 'acme'): Promise<Response> => fetch(url, { headers: { 'x-key': key } })
  const statuses = async (app: App, count: number): Promise<number[]> =>
    Promise.all(Array.from({ length: count }, async () => (await get(app)).status))
  const passed = async (app: App, count: number): Promise<number> => {
    const all = await statuses(app, count)
    expect(all.every((status) => status === 200 || status === 429)).toBe(true)
    return all.filter((status) => status === 200).length
  }

  const common = (name: string, check: () => Promise<void>): void => {
    if (isWhole) test(name, check)
  }
  // Long, so that a busy machine, or a client that has to find its nodes first, is not taken for a fault.
  const options = { deadlineMs: 10_000 }
  const inRedis = (): Pick<Spec, 'redis' | 'options'> => ({
    redis: { ports: [Number(new URL(testRedisUrl()).port)], prefix: testPrefix() },
    options,
  })
  const stores: [string, typeof inRedis][] = [
    ['memory', () => ({})],
    ['Redis', inRedis],
  ]

  describe.each(isWhole ? stores : stores.slice(-1))('in %s', (_, where) => {
    test('100 at :59 and 100 at :01: held to 100 in all', async () => {
      const app = await serve({ limit: 100, windowMs: MINUTE, isTimed: true, ...where() })
      expect(await passed(app, 100)).toBe(100)
      await app.passTime(2000)
      expect(await passed(app, 100)).toBe(0)
      await app.passTime(MINUTE - 2001)
      expect(await passed(app, 1)).toBe(0)
      // Refused requests took nothing: all of it is back.
      await app.passTime(1)
      expect(await passed(app, 101)).toBe(100)
    })

    common('300 at once: as many pass as the limit says', async () => {
      const app = await serve({ limit: 120, windowMs: MINUTE, ...where() })
      expect(await passed(app, 300)).toBe(120)
    })

    test('what it tells is true: what is left, and when to come again', async () => {
      const app = await serve({ limit: 2, windowMs: MINUTE, isTimed: true, ...where() })
      expect(remaining(await get(app))).toBe(1)
      await app.passTime(10_500)
      expect(remaining(await get(app))).toBe(0)
      const refused = await get(app)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '50'])
      await app.passTime(49_499)
      expect((await get(app)).headers.get('retry-after')).toBe('1')
      await app.passTime(1)
      expect((await get(app)).status).toBe(200)
      expect((await get(app, 'other')).status).toBe(200)
    })
  })

  describe('where Redis fails', () => {
    let redis: Deployment
    beforeAll(async () => {
      redis = await deployOne()
    })
    afterAll(() => redis.end())
    const at = (): Redises => ({ ports: redis.ports, prefix: testPrefix() })

    test('it hangs: this process limits by itself, and Redis decides again by itself', async () => {
      const options = { deadlineMs: 200, local: { instances: 2 } }
      const app = await serve({ limit: 40, windowMs: MINUTE, redis: at(), options })
      expect(await passed(app, 3)).toBe(3)
      // On a busy machine Redis can be too late for one of these.
      const local = (await app.stats()).decisions.local.allowed
      redis.pause()
      try {
        const [first, second] = [await get(app), await get(app)]
        expect([first.status, second.status]).toEqual([200, 200])
        // The share of this process, counted down.
        expect(remaining(first) - remaining(second)).toBe(1)
        expect(remaining(second)).toBeLessThanOrEqual(18)
        const during = 2 + (await passed(app, 40))
        expect(during).toBeLessThanOrEqual(20)
        expect((await get(app)).status).toBe(429)
        expect((await app.stats()).decisions.local.allowed - local).toBe(during)
      } finally {
        redis.resume()
      }
      const before = (await app.stats()).decisions.store.allowed
      await eventually(async () => {
        await get(app, 'other')
        return (await app.stats()).decisions.store.allowed > before
      })
    })

    common(
      'it is killed, and started again: requests are answered, and Redis decides again by itself',
      async () => {
        const app = await serve({ limit: 2, windowMs: MINUTE, redis: at() })
        await eventually(async () => {
          await get(app, 'other')
          return (await app.stats()).decisions.store.allowed > 0
        })
        await redis.kill()
        const before = (await app.stats()).decisions.store.allowed
        expect(await passed(app, 10)).toBe(2)
        await redis.restart()
        let asked = 0
        await eventually(async () => {
          await get(app, `other-${(asked += 1)}`)
          return (await app.stats()).decisions.store.allowed > before
        })
      },
    )

    common('open: all pass', async () => {
      const app = await serve({
        limit: 1,
        windowMs: MINUTE,
        redis: at(),
        options: { onStoreFailure: 'open' },
      })
      redis.pause()
      try {
        expect(await statuses(app, 5)).toEqual([200, 200, 200, 200, 200])
      } finally {
        redis.resume()
      }
    })

    test('closed: 503, never 429', async () => {
      const app = await serve({
        limit: 1,
        windowMs: MINUTE,
        redis: at(),
        options: { onStoreFailure: 'closed' },
      })
      redis.pause()
      try {
        expect(await statuses(app, 3)).toEqual([503, 503, 503])
        // The answer says nothing of how the application is built.
        expect(await (await get(app)).text()).not.toContain('onStoreFailure')
      } finally {
        redis.resume()
      }
    })
  })

  common('in a cluster', async () => {
    const cluster = await deployCluster()
    try {
      const redis = { ports: cluster.ports, prefix: testPrefix(), isCluster: true }
      const app = await serve({ limit: 10, windowMs: MINUTE, redis, options })
      expect(await passed(app, 40)).toBe(10)
    } finally {
      await Promise.all(opened.splice(0).map((app) => app.close()))
      await cluster.end()
    }
  })
}
