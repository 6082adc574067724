// Errors thrown by onDenied and other functions of the options reach the application's error handler unchanged.
import { serveHandler } from '@tollgate/testing'
import express5, { type ErrorRequestHandler } from 'express'
import express4 from 'express4'
import { rateLimit } from '../src/index.js'

describe.each([
  ['Express 5', express5],
  ['Express 4', express4],
])('%s', (_, framework) => {
  const answerTo = async (thrown: unknown, isLate: boolean): Promise<[number, unknown]> => {
    const app = framework()
    const onDenied = (): Promise<never> => {
      if (isLate) return Promise.reject(thrown)
      throw thrown
    }
    app.use(rateLimit({ limit: '1/min', cost: 2, onDenied }))
    app.get('/', (_req, res) => void res.send('let in'))
    let seen: unknown
    app.use(((error, _req, _res, next) => {
      seen = error
      next(error)
    }) satisfies ErrorRequestHandler)
    app.set('env', 'test')
    const served = await serveHandler(app)
    const { status } = await fetch(served.url)
    await served.close()
    return [status, seen]
  }

  test.each([true, false])(
    'Express answers an object with a status by that status (late: %p)',
    async (isLate) => {
      const thrown = { statusCode: 402, message: 'pay' }
      expect(await answerTo(thrown, isLate)).toEqual([402, thrown])
    },
  )

  test.each([undefined, null, '', 0, 'route', 'router', Symbol('x')])(
    '%p is an error, and no success or command',
    async (thrown) => {
      for (const isLate of [true, false]) {
        expect(await answerTo(thrown, isLate)).toEqual([500, expect.any(Error)])
      }
    },
  )
})
