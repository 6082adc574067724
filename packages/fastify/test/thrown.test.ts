// Objects thrown by onDenied and other functions of the options reach Fastify's error handling unchanged.
import type { FastifyInstance } from 'fastify'
import { rateLimit } from '../src/index.js'
import { ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get } = useApp((made) => {
  app = made
})

const throwing = async (thrown: unknown, isLate = false): Promise<void> => {
  const onDenied = (): Promise<never> => {
    if (isLate) return Promise.reject(thrown)
    throw thrown
  }
  await app.register(rateLimit, { limit: '1/min', cost: 2, onDenied })
  app.get('/', ok)
}

describe.each([false, true])('late: %p', (isLate) => {
  test('Fastify answers an object with a status by that status', async () => {
    await throwing({ statusCode: 402, message: 'pay', code: 'PAY' }, isLate)
    const response = await get('/')
    expect([response.status, JSON.parse(response.body)]).toMatchObject([402, { message: 'pay' }])
  })

  test('an error handler gets the object unchanged', async () => {
    const thrown = { statusCode: 402 }
    const seen = jest.fn()
    app.setErrorHandler((error, _request, reply) => {
      seen(error)
      return reply.code(418).send()
    })
    await throwing(thrown, isLate)
    expect((await get('/')).status).toBe(418)
    expect(seen.mock.calls[0]?.[0]).toBe(thrown)
  })

  test.each([undefined, null, '', 0, 'route', Symbol('x')])(
    '%p is an error, and no success',
    async (thrown) => {
      await throwing(thrown, isLate)
      expect((await get('/')).status).toBe(500)
    },
  )
})
