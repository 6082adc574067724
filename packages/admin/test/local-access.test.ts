// Without `authorize`: a browser on the same machine, with a token that is good once.
import { createLimiter, memoryStore, type Limiter } from '@tollgate/core'
import { dashboard as forFetch } from '../src/fetch.js'
import { NODE_HOSTS, type Mounted } from './hosts.js'

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

function makeLimiter(): Limiter {
  const limiter = createLimiter({ limit: '5/h', store: memoryStore() })
  open.push(() => limiter.close())
  return limiter
}

const LOCAL = { host: 'localhost:3000' }

describe.each(Object.entries(NODE_HOSTS))('%s', (_, host) => {
  async function mount(): Promise<Mounted> {
    const mounted = await host(makeLimiter(), {})
    open.push(() => mounted.close())
    return mounted
  }
  const statusOf = async (mounted: Mounted, headers: Record<string, string>, path = ''): Promise<number> =>
    (await mounted.ask(`/_tollgate/${path}`, { headers })).status

  /** A browser that has brought the token. */
  async function enter(mounted: Mounted): Promise<string> {
    const { status, headers } = await mounted.ask(`/_tollgate/?token=${mounted.token()}`, { headers: LOCAL })
    expect([status, headers.get('location')]).toEqual([302, '/_tollgate/'])
    const cookie = headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(
      /^tollgate_dashboard_\w{8}=[\w-]{43}; HttpOnly; SameSite=Strict; Path=\/_tollgate\/$/,
    )
    return cookie.split(';')[0] as string
  }

  test('a token becomes a cookie, once', async () => {
    const mounted = await mount()
    const token = mounted.token() as string
    expect(token).toMatch(/^[\w-]{43}$/)
    expect(await statusOf(mounted, LOCAL)).toBe(403)
    // A preview of the link does not use it up.
    const head = { method: 'HEAD', headers: LOCAL }
    expect((await mounted.ask(`/_tollgate/?token=${token}`, head)).status).toBe(403)
    const cookie = await enter(mounted)
    expect(await statusOf(mounted, { ...LOCAL, cookie: `a=b; ${cookie}; c=d` })).toBe(200)
    expect(await statusOf(mounted, { ...LOCAL, cookie }, 'api/session')).toBe(200)
    expect(mounted.token()).toBeUndefined()
    // Who has read the link later, such as in the history of a shell.
    expect(await statusOf(mounted, LOCAL, `?token=${token}`)).toBe(403)
    expect(await statusOf(mounted, { ...LOCAL, cookie: `${cookie}x` })).toBe(403)
    expect(await statusOf(mounted, { ...LOCAL, cookie: `${cookie.split('=')[0]}=` })).toBe(403)
  })

  test.each([
    ['a name that an attacker points here', { host: 'evil.example' }],
    ['a name that begins like this machine', { host: 'localhost.evil.example' }],
    ['an address that begins like this machine', { host: '127.0.0.1.evil.example' }],
    ['a proxy', { ...LOCAL, 'x-forwarded-for': '203.0.113.7' }],
    ['a proxy that forwards for this machine', { ...LOCAL, 'x-forwarded-for': '127.0.0.1' }],
    ['a proxy that names its client', { ...LOCAL, forwarded: 'for=203.0.113.7' }],
    ['a proxy that names the host', { ...LOCAL, 'x-forwarded-host': 'admin.example.com' }],
    ['a proxy of a cloud', { ...LOCAL, 'cf-connecting-ip': '203.0.113.7' }],
    ["nginx's header", { ...LOCAL, 'x-real-ip': '203.0.113.7' }],
  ])('nobody gets in with %s, whether with the token or the cookie', async (__, headers) => {
    const mounted = await mount()
    expect(await statusOf(mounted, headers, `?token=${mounted.token()}`)).toBe(403)
    // It was not used up by that.
    const cookie = await enter(mounted)
    for (const path of ['', 'api/session', 'api/live', 'api/subject?id=acme'])
      expect([path, await statusOf(mounted, { ...headers, cookie }, path)]).toEqual([path, 403])
    const change = { 'x-tollgate': '1', 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
    const { status } = await mounted.ask('/_tollgate/api/changes', {
      ...{ method: 'POST', headers: { ...headers, ...change, cookie } },
      body: JSON.stringify({ kind: 'block', id: 'acme', for: '1h' }),
    })
    expect(status).toBe(403)
  })

  test('a cookie of another dashboard on this machine is none', async () => {
    const [one, other] = [await mount(), await mount()]
    const cookie = await enter(one)
    expect(await statusOf(other, { ...LOCAL, cookie })).toBe(403)
  })

  test('a change of another site is refused, though the cookie would be sent', async () => {
    const mounted = await mount()
    const cookie = await enter(mounted)
    const send = async (site: string): Promise<number> => {
      const headers = { 'x-tollgate': '1', 'sec-fetch-site': site, 'content-type': 'application/json' }
      const { status } = await mounted.ask('/_tollgate/api/changes', {
        ...{ method: 'POST', headers: { ...LOCAL, ...headers, cookie } },
        body: JSON.stringify({ kind: 'block', id: 'acme', for: '1h' }),
      })
      return status
    }
    expect(await send('cross-site')).toBe(403)
    expect(await send('same-site')).toBe(403)
    expect(await send('same-origin')).toBe(200)
  })
})

test('hosts that know no socket need authorize', () => {
  expect(() => forFetch(makeLimiter(), {} as never)).toThrow(
    /^authorize: got undefined, expected a function that/,
  )
})
