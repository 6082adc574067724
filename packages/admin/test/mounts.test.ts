// What the hosts do around a dashboard: a mount that takes the slash away, and a server that closes.
import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLimiter, memoryStore, type Limiter } from '@tollgate/core'
import Koa, { type Middleware } from 'koa'
import { dashboard } from '../src/index.js'
import { dashboard as forKoa } from '../src/koa.js'
import { serve, type Mounted } from './hosts.js'

const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

const authorize = (): { readonly by: string } => ({ by: 'ops' })

function makeLimiter(): Limiter {
  const limiter = createLimiter({ limit: '5/h', store: memoryStore() })
  open.push(() => limiter.close())
  return limiter
}

/** As koa-mount does: a prefix is taken from the path, and nothing left is `/`. */
const below =
  (prefix: string, inner: Middleware): Middleware =>
  async (ctx, next) => {
    const { path } = ctx
    if (path !== prefix && !path.startsWith(`${prefix}/`)) return next()
    ctx.path = path.slice(prefix.length) || '/'
    await inner(ctx, next)
    ctx.path = path
  }

describe('below koa-mount', () => {
  async function mount(made: ReturnType<typeof forKoa>): Promise<Mounted> {
    const app = new Koa()
    app.silent = true
    app.use(below('/ops', below('/tools', made)))
    const mounted = await serve(app.callback(), () => made.token)
    open.push(() => mounted.close())
    return mounted
  }

  test.each(['/ops/tools', '/ops/tools/', '/ops/tools?theme=dark'])('the page is at %s', async (path) => {
    const mounted = await mount(forKoa(makeLimiter(), { authorize }))
    const { status, headers } = await mounted.ask(path)
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect((await mounted.ask('/ops/tools/api/session')).status).toBe(200)
    expect((await mounted.ask('/ops/toolsy')).status).toBe(404)
  })

  test('a token goes to the slash, and becomes a cookie for what is below it', async () => {
    const mounted = await mount(forKoa(makeLimiter()))
    const asked = { headers: { host: 'localhost:3000' } }
    const moved = await mounted.ask(`/ops/tools?token=${mounted.token()}`, asked)
    expect([moved.status, moved.headers.get('location')]).toEqual([
      302,
      `/ops/tools/?token=${mounted.token()}`,
    ])
    const { status, headers } = await mounted.ask(moved.headers.get('location') as string, asked)
    expect([status, headers.get('location')]).toEqual([302, '/ops/tools/'])
    expect(headers.get('set-cookie')).toMatch(/Path=\/ops\/tools\/$/)
  })
})

test('a server that closes does not wait for pages that follow live figures', async () => {
  const limiter = makeLimiter()
  const server = createServer(dashboard(limiter, { authorize }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  open.push(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const [stream] = (await once(get({ host: '127.0.0.1', port, path: '/api/live' }), 'response')) as [
    IncomingMessage,
  ]
  await once(stream, 'data')
  stream.on('error', () => {})
  stream.resume()
  await new Promise((resolve) => server.close(resolve))
  expect(server.listening).toBe(false)
})
