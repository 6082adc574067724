import { createLimiter, type RateLimitOptions } from '@tollgate/core'
import type { Served } from '../served.ts'
import type { AnyRequest } from './adapter-contract.ts'

type Options = RateLimitOptions<AnyRequest, never>

/** Applications that mount the limiter as it is not meant, or that look as if they did. Each answers `GET /`. */
export interface Mistakes {
  /** One middleware, mounted twice. */
  twice(options: Options): Promise<Served>
  /** Two middlewares, one after the other. */
  two(first: Options, second: Options): Promise<Served>
  /** A middleware that is made for each request, and given that request at once. */
  inHandler(options: () => Options): Promise<Served>
  /** One that is made at the first request of its key, and kept for later ones. */
  kept(options: () => Options): Promise<Served>
}

/** Mistakes that are made at the framework's side: to be called once in a test file, since one is told once a process. */
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

    test('one middleware mounted twice counts twice, and is told once', async () => {
      expect(await statuses(twice({ limit: '4/min' }), 3)).toEqual([200, 200, 429])
      expect(told()).toEqual([
        ['TOLLGATE_MOUNTED_TWICE', expect.stringContaining("group: 'login', limit: '5/min'")],
      ])
    })

    test('two places of one limiter are none', async () => {
      const limiter = createLimiter({ limit: '9/min' })
      expect(await statuses(two({ limiter }, { limiter, group: 'login' }), 2)).toEqual([200, 200])
      expect(told()).toEqual([])
    })

    test('a limiter kept for later requests is none, nor is one that was made before', async () => {
      for (let i = 0; i < 3; i += 1)
        await statuses(
          kept(() => ({ limit: '9/min' })),
          2,
        )
      expect(await statuses(two({ limit: '9/min' }, { limit: '9/min' }), 2)).toEqual([200, 200])
      expect(told()).toEqual([])
    })

    test('a shared limiter limits wherever its middleware is made', async () => {
      const limiter = createLimiter({ limit: '2/min' })
      expect(
        await statuses(
          inHandler(() => ({ limiter })),
          3,
        ),
      ).toEqual([200, 200, 429])
      expect(told()).toEqual([])
    })

    test('both can be silenced', async () => {
      await statuses(twice({ limit: '4/min', warnings: false }), 2)
      expect(told()).toEqual([])
    })

    test('a limiter made for each request limits nobody, and is told once', async () => {
      expect(
        await statuses(
          inHandler(() => ({ limit: '1/min' })),
          4,
        ),
      ).toEqual([200, 200, 200, 200])
      expect(told()).toEqual([['TOLLGATE_MADE_IN_HANDLER', expect.stringContaining('Call it once')]])
    })
  })
}
