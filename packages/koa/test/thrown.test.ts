// Objects thrown by onDenied and other functions of the options reach outer middleware unchanged.
import { serveHandler } from '@tollgate/testing'
import Koa3 from 'koa'
import Koa2 from 'koa2'
import { rateLimit } from '../src/index.js'

describe.each([
  ['Koa 3', Koa3],
  ['Koa 2', Koa2],
])('%s', (_, Koa) => {
  const caught = async (thrown: unknown): Promise<unknown> => {
    const app = new Koa()
    let seen: unknown = 'nothing'
    app.use(async (ctx, next) => {
      try {
        await next()
      } catch (error) {
        seen = error
        ctx.status = 418
      }
    })
    app.use(
      rateLimit({
        limit: '1/min',
        cost: 2,
        onDenied: () => {
          throw thrown
        },
      }),
    )
    const served = await serveHandler(app.callback())
    const { status } = await fetch(served.url)
    await served.close()
    expect(status).toBe(418)
    return seen
  }

  test('an object is thrown on unchanged', async () => {
    const thrown = { statusCode: 402 }
    expect(await caught(thrown)).toBe(thrown)
  })

  test.each([undefined, null, '', 'text', Symbol('x')])('%p becomes an Error', async (thrown) => {
    expect(await caught(thrown)).toBeInstanceOf(Error)
  })
})
