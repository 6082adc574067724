import { createLimiter, type RateLimitOptions } from '@tollgate/core'
import type { Served } from '../../served.ts'
import type { AnyRequest } from '../adapter-contract.ts'

type Options = RateLimitOptions<AnyRequest, never>

/** Applications that mount the limiter in a wrong way, or in a right way that looks wrong. Each answers `GET /`. */
export interface Mistakes {
  /** One middleware, mounted twice. */
  twice(options: Options): Promise<Served>
  /** Two middlewares, one after the other. */
  two(first: Options, second: Options): Promise<Served>
  /** A middleware that is made for each request and then handles this request. */
  inHandler(options: () => Options): Promise<Served>
  /** A middleware that is made at the first request of a key, and kept for later requests. */
  kept(options: () => Options): Promise<Served>
}

/** Warnings about wrong use in a framework. Call it once in a test file: each warning comes once per process. */
export function mistakesContract(name: string, { twice, two, inHandler, kept }: Mistakes): void {
  describe(`mistakes: ${name}`, () => {
    let served: Served | undefined
    const warn = jest.spyOn(process, 'emitWarning')
    beforeEach(() => {
      warn.mockReset()
    })
    afterEach(async () => {
      await served?.close()
      served = undefined
    })
    afterAll(() => warn.mockRestore())

    const statuses = async (given: Promise<Served>, count: number): Promise<number[]> => {
      served = await given
      const answers = []
      for (let i = 0; i < count; i += 1) answers.push((await fetch(served.url)).status)
      await served.close()
      return answers
    }
    const told = (): unknown[] =>
      warn.mock.calls.map(([text, options]) => [(options as unknown as { code: string }).code, text])

    test('one middleware mounted twice counts twice, and causes one warning', async () => {
      expect(await statuses(twice({ limit: '4/min' }), 3)).toEqual([200, 200, 429])
      expect(told()).toEqual([
        ['TOLLGATE_MOUNTED_TWICE', expect.stringContaining("limit.route({ stacked: { login: '5/min' } })")],
      ])
    })

    test('two middlewares that share a limiter and its counters count twice, and cause one warning', async () => {
      const limiter = createLimiter({ limit: '4/min' })
      expect(await statuses(two({ limiter }, { limiter, cost: 1 }), 3)).toEqual([200, 200, 429])
      expect(told()).toEqual([['TOLLGATE_MOUNTED_TWICE', expect.stringContaining('rateLimit({ limiter })')]])
    })

    test.each<[what: string, first: Options, second: Options]>([
      ['subjects', { identify: () => ({ id: 'acme' }) }, { identify: () => ({ id: 'user' }) }],
      ['kinds of subject', {}, { identify: () => ({ id: '127.0.0.1', kind: 'id' }) }],
      ['groups', { group: 'a' }, { group: 'b' }],
      ['plans, one without limits', {}, { identify: () => ({ id: '127.0.0.1', kind: 'ip', plan: 'staff' }) }],
    ])('one limiter in two places is no mistake with other %s', async (_, first, second) => {
      const limiter = createLimiter({ plans: { free: '9/min', staff: 'unlimited' } })
      expect(await statuses(two({ limiter, ...first }, { limiter, ...second }), 2)).toEqual([200, 200])
      expect(told()).toEqual([])
    })

    test('one limiter in two places is no mistake', async () => {
      const limiter = createLimiter({ limit: '9/min' })
      expect(await statuses(two({ limiter }, { limiter, group: 'login' }), 2)).toEqual([200, 200])
      expect(told()).toEqual([])
    })

    test('a limiter made at a request and kept is no mistake, nor is one made before all requests', async () => {
      for (let i = 0; i < 3; i += 1)
        await statuses(
          kept(() => ({ limit: '9/min' })),
          2,
        )
      expect(await statuses(two({ limit: '9/min' }, { limit: '9/min' }), 2)).toEqual([200, 200])
      expect(told()).toEqual([])
    })

    test('a shared limiter also limits when a middleware is made for each request', async () => {
      const limiter = createLimiter({ limit: '2/min' })
      expect(
        await statuses(
          inHandler(() => ({ limiter })),
          3,
        ),
      ).toEqual([200, 200, 429])
      expect(told()).toEqual([])
    })

    test('warnings: false turns the warning off', async () => {
      await statuses(twice({ limit: '4/min', warnings: false }), 2)
      expect(told()).toEqual([])
    })

    test('a limiter made for each request denies no request, and causes one warning', async () => {
      expect(
        await statuses(
          inHandler(() => ({ limit: '1/min' })),
          12,
        ),
      ).toEqual(new Array(12).fill(200))
      expect(told()).toEqual([['TOLLGATE_MADE_IN_HANDLER', expect.stringContaining('Call it once')]])
    })
  })
}
