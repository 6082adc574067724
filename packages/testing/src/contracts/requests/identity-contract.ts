import type { RateLimitOptions } from '@tollgate/core'
import { eventually } from '../../eventually.ts'
import type { Served } from '../../served.ts'
import type { AnyRequest } from '../adapter-contract.ts'

/** An application with a limiter, with `GET /a`, `/b` and `/c` and `POST /login`. */
export interface Authenticating {
  readonly options: RateLimitOptions<AnyRequest, never>
  /** Runs in front of the limiter. */
  readonly before: (req: AnyRequest) => void
  /** Runs behind it, for all routes. */
  readonly after: (req: AnyRequest) => void
  /** Runs in the handler of `POST /login`. */
  readonly login: (req: AnyRequest) => void
}

type Identify = NonNullable<Authenticating['options']['identify']>

/** Whether a limiter in front of authentication is reported, over real HTTP. Call it once for each framework. */
export function identityContract(name: string, serve: (app: Authenticating) => Promise<Served>): void {
  describe(`identity: ${name}`, () => {
    const users = new WeakMap<AnyRequest, string>()
    const authenticate = (req: AnyRequest): void => void users.set(req, String(req.headers['x-user']))
    const nothing = (): void => {}
    const warn = jest.spyOn(process, 'emitWarning')
    // One of five requests is drawn: here the fifth.
    const drawn = jest.spyOn(Math, 'random')
    const rejected = jest.fn()
    let served: Served | undefined
    beforeEach(() => {
      warn.mockReset()
      drawn.mockReturnValue(0.99)
      rejected.mockReset()
      process.on('unhandledRejection', rejected)
    })
    afterEach(async () => {
      await served?.close()
      served = undefined
      process.off('unhandledRejection', rejected)
      expect(rejected).not.toHaveBeenCalled()
    })
    afterAll(() => {
      warn.mockRestore()
      drawn.mockRestore()
    })

    /** @param identify as it is called; default: as it is to be */
    const start = async (
      places: Partial<Omit<Authenticating, 'options'>>,
      options: Partial<Authenticating['options']> = {},
      identify: Identify = (req) => users.get(req),
    ): Promise<jest.Mock> => {
      const asked = jest.fn(identify)
      const all = { limit: '1000/min', identify: asked, ...options } as Authenticating['options']
      served = await serve({ before: nothing, after: nothing, login: nothing, ...places, options: all })
      return asked
    }
    const send = async (count: number, paths: readonly string[], method = 'GET'): Promise<void> => {
      for (let i = 0; i < count; i += 1) {
        const path = paths[i % paths.length] as string
        const { status } = await fetch(`${served?.url}${path}`, { method, headers: { 'x-user': 'acme' } })
        expect(status).toBe(200)
      }
    }
    const told = (): unknown[] =>
      warn.mock.calls.map(([, options]) => (options as unknown as { code: string }).code)
    /** Once so many calls of `identify` were made. */
    const madeOf = (asked: jest.Mock, count: number): Promise<void> =>
      eventually(() => expect(asked).toHaveBeenCalledTimes(count))

    test('authentication behind the limiter is told once, and then not looked for any more', async () => {
      const asked = await start({ after: authenticate })
      await send(50, ['a', 'b', 'c'])
      await eventually(() => expect(told()).toEqual(['TOLLGATE_LATE_IDENTITY']))
      expect(String(warn.mock.calls[0]?.[0])).toContain('authentication runs after the limiter')
      await madeOf(asked, 50 + 10)
      await send(30, ['a', 'b', 'c'])
      expect(asked).toHaveBeenCalledTimes(80 + 10)
      expect(told()).toHaveLength(1)
    })

    test('authentication in front of it is asked for once a request', async () => {
      const asked = await start({ before: authenticate })
      await send(60, ['a', 'b', 'c'])
      expect([asked.mock.calls.length, told()]).toEqual([60, []])
    })

    test('a route to log in alone is no reason to warn', async () => {
      const asked = await start({ login: authenticate })
      await send(60, ['login'], 'POST')
      await madeOf(asked, 60 + 12)
      expect(told()).toEqual([])
    })

    test('without a user nothing is told', async () => {
      const asked = await start({})
      await send(60, ['a', 'b', 'c'])
      await madeOf(asked, 60 + 12)
      expect(told()).toEqual([])
    })

    test('warnings: false asks no second time', async () => {
      const asked = await start({ after: authenticate }, { warnings: false })
      await send(60, ['a', 'b', 'c'])
      expect([asked.mock.calls.length, told()]).toEqual([60, []])
    })

    test.each<[how: string, again: () => never | Promise<never>]>([
      [
        'throws',
        () => {
          throw new Error('asked again')
        },
      ],
      ['rejects', () => Promise.reject(new Error('asked again'))],
      ['never ends', () => new Promise<never>(() => {})],
    ])('an identify that %s when it is asked again', async (_, again) => {
      const seen = new WeakSet<AnyRequest>()
      const asked = await start({ after: authenticate }, {}, (req) => {
        if (seen.has(req)) return again()
        seen.add(req)
        return undefined
      })
      await send(60, ['a', 'b', 'c'])
      await madeOf(asked, 60 + 12)
      expect(told()).toEqual([])
    })
  })
}
