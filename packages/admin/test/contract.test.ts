// What a dashboard answers, the same on every host: over real HTTP, or from a Request.
import { createLimiter, memoryStore, type Limiter } from '@tollgate/core'
import { HOSTS, type Answer, type Ask, type Mounted, type Options } from './hosts.js'

const open: (() => Promise<void>)[] = []
let warned: jest.SpyInstance
beforeEach(() => {
  warned = jest.spyOn(process, 'emitWarning').mockImplementation()
})
afterEach(async () => {
  warned.mockRestore()
  for (const close of open.splice(0)) await close()
})

function makeLimiter(): Limiter {
  const limiter = createLimiter({
    ...{ name: 'api', plans: { free: '5/h', pro: ['10/s', '1000/h'] }, defaultPlan: 'free' },
    store: memoryStore(),
  })
  open.push(() => limiter.close())
  return limiter
}

const OPS: Options = { authorize: () => ({ by: 'ops' }) }
/** As the page sends changes. */
const OWN = { 'x-tollgate': '1', 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }
const CHANGES = [
  ...['block', 'unblock', 'override', 'scale', 'lift'],
  ...['topUp', 'renew', 'reset', 'forgetPlan'],
]
const BLOCK = { kind: 'block', id: 'acme', for: '1h', reason: 'abuse' }

const jsonOf = ({ text }: Answer): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>

describe.each(Object.entries(HOSTS))('%s', (name, host) => {
  const limiterOf = new WeakMap<Mounted, Limiter>()
  async function mount(options: Options = OPS): Promise<Mounted> {
    const limiter = makeLimiter()
    const mounted = await host(limiter, options)
    limiterOf.set(mounted, limiter)
    open.push(() => mounted.close())
    return mounted
  }
  const post = (mounted: Mounted, body: unknown, headers: Ask['headers'] = OWN): Promise<Answer> =>
    mounted.ask('/_tollgate/api/changes', {
      ...{ method: 'POST', headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })

  test('serves the page below its mount, under a policy that lets nothing else run', async () => {
    const mounted = await mount()
    // Without a redirect: some hosts take the slash away again.
    const bare = await mounted.ask('/_tollgate?theme=dark')
    expect([bare.status, bare.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const page = await mounted.ask('/_tollgate/')
    expect(page.status).toBe(200)
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toMatch(/^default-src 'none'; script-src 'sha256-/)
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(page.headers.get('cache-control')).toBe('no-store, no-transform')
    expect(page.headers.get('x-content-type-options')).toBe('nosniff')
    const head = await mounted.ask('/_tollgate/', { method: 'HEAD' })
    expect([head.status, head.text]).toEqual([200, name === 'fetch' ? head.text : ''])
  })

  test('answers what is not there, and methods that do nothing', async () => {
    const mounted = await mount()
    const statusOf = async (path: string, ask?: Ask): Promise<number> => (await mounted.ask(path, ask)).status
    expect(await statusOf('/_tollgate/api/nothing')).toBe(404)
    expect(await statusOf('/_tollgate/../secret')).toBe(404)
    expect(await statusOf('/_tollgate/', { method: 'POST' })).toBe(405)
    expect(await statusOf('/_tollgate/api/overview', { method: 'DELETE' })).toBe(405)
    expect(await statusOf('/_tollgate/api/changes')).toBe(405)
    const elsewhere = await mounted.ask('/elsewhere')
    expect(elsewhere.status).toBe(404)
    if (name === 'fetch') expect(elsewhere.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test('asks authorize with the request of the host, and with what is to be done', async () => {
    const asked: [unknown, string][] = []
    const mounted = await mount({
      authorize: (req: unknown, action) => {
        asked.push([req, action])
        return Promise.resolve({ by: ' ada \u001b[31m' })
      },
    })
    expect(jsonOf(await mounted.ask('/_tollgate/api/session'))).toMatchObject({
      ...{ name: 'api', by: 'ada [31m', actions: CHANGES },
      plans: [
        { name: 'free', isDefault: true, limits: [{ name: 'hour', quota: 5, windowMs: 3_600_000 }] },
        { name: 'pro', isDefault: false, limits: [{ name: 'second' }, { name: 'hour' }] },
      ],
    })
    expect((await post(mounted, BLOCK)).status).toBe(200)
    expect(asked.map(([, action]) => action)).toEqual(['read', ...CHANGES, 'block'])
    for (const [req] of asked) expect(req).toMatchObject(name === 'Koa' ? { app: {} } : { headers: {} })
  })

  test.each([
    ['undefined', () => undefined],
    ['true', () => true],
    ['an empty name', () => ({ by: '  \n' })],
    ['a name that is no text', () => ({ by: 7 })],
    ['no name', () => ({})],
    ['a text', () => 'ops'],
    ['a rejection', () => Promise.reject(new Error('session expired'))],
    [
      'an error without a text',
      () => Promise.reject(Object.assign(new Error('x'), { message: { code: 7 } })),
    ],
    [
      'an error',
      () => {
        throw new Error('boom')
      },
    ],
  ])('refuses everything if authorize gives %s', async (_, authorize) => {
    const mounted = await mount({ authorize })
    const paths = [
      '',
      'api/session',
      'api/overview',
      'api/live',
      'api/subject?id=acme',
      'api/rules',
      'api/plans',
      'api/refusals',
      'api/nothing',
    ]
    for (const path of paths) {
      const { status, text, headers } = await mounted.ask(`/_tollgate/${path}`)
      expect([path, status]).toEqual([path, 403])
      expect(headers.get('content-type')).toBe('application/problem+json')
      expect(text).not.toMatch(/expired|boom/)
    }
    expect((await post(mounted, BLOCK)).status).toBe(403)
    expect(await rulesOf(mounted)).toEqual([])
    const codes = warned.mock.calls.map(([, { code }]) => code)
    expect(codes).toEqual(_ === 'a rejection' || _.startsWith('an error') ? ['TOLLGATE_AUTHORIZE'] : [])
  })

  test('lets in for one action and not for another', async () => {
    const mounted = await mount({ authorize: (_, action) => action !== 'scale' && { by: 'ops' } })
    expect((await post(mounted, { kind: 'scale', plan: 'free', factor: 2, for: '1h' })).status).toBe(403)
    expect((await post(mounted, BLOCK)).status).toBe(200)
  })

  async function rulesOf(mounted: Mounted): Promise<readonly unknown[]> {
    const rules: unknown[] = []
    for await (const { kind, of, by, reason } of limiterOf.get(mounted)?.rules() ?? [])
      rules.push({ kind, of, by, reason })
    return rules
  }

  test('writes down who made a change, and takes no name from the page', async () => {
    const mounted = await mount()
    expect((await post(mounted, { ...BLOCK, by: 'the king' })).status).toBe(400)
    const { status, text } = await post(mounted, BLOCK)
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { done: true, says: expect.stringMatching(/^acme is blocked until .* UTC\.$/) },
    ])
    expect(await rulesOf(mounted)).toEqual([{ kind: 'block', of: 'acme', by: 'ops', reason: 'abuse' }])
    expect(jsonOf(await mounted.ask('/_tollgate/api/rules')).history).toMatchObject([
      { action: 'set', kind: 'block', of: 'acme', by: 'ops' },
    ])
  })

  test.each([
    ['no header of the page', { 'x-tollgate': undefined }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another subdomain', { 'sec-fetch-site': 'same-site' }],
    ['the address bar', { 'sec-fetch-site': 'none' }],
    ['nothing about where it is from', { 'sec-fetch-site': undefined }],
    ['another origin', { 'sec-fetch-site': undefined, origin: 'https://evil.example' }],
    ['an origin that is hidden', { 'sec-fetch-site': undefined, origin: 'null' }],
  ])('takes no change with %s', async (_, changed) => {
    const mounted = await mount()
    const headers = Object.fromEntries(
      Object.entries({ ...OWN, ...changed }).filter(([, value]) => value !== undefined),
    ) as Record<string, string>
    expect((await post(mounted, BLOCK, headers)).status).toBe(403)
    expect(await rulesOf(mounted)).toEqual([])
  })

  test('takes a change from the same origin where the browser says no site, and from the option origin alone where that is set', async () => {
    const { 'sec-fetch-site': _, ...plain } = OWN
    const mounted = await mount()
    const asked = await post(mounted, BLOCK, { ...plain, host: 'admin.test', origin: 'http://admin.test' })
    expect(asked.status).toBe(200)
    const behind = await mount({ ...OPS, origin: 'https://admin.example.com' })
    const from = async (origin: string): Promise<number> =>
      (await post(behind, BLOCK, { ...OWN, host: 'evil.example', origin })).status
    // As after DNS rebinding: the browser takes the page for one of the same origin.
    expect(await from('http://evil.example')).toBe(403)
    expect(await from('https://admin.example.com')).toBe(200)
  })

  test('says what who looks may change', async () => {
    const mounted = await mount({
      authorize: async (_: unknown, action) => /^(read|block|topUp)$/.test(action) && { by: 'support' },
    })
    expect(jsonOf(await mounted.ask('/_tollgate/api/session')).actions).toEqual(['block', 'topUp'])
    expect((await post(mounted, { kind: 'unblock', id: 'acme' })).status).toBe(403)
  })

  test('is read-only where that is said', async () => {
    const mounted = await mount({ ...OPS, readOnly: true })
    expect((await post(mounted, BLOCK)).status).toBe(405)
    expect(jsonOf(await mounted.ask('/_tollgate/api/session')).actions).toEqual([])
    expect(await rulesOf(mounted)).toEqual([])
  })

  test.each([
    ['no JSON', '{', 400],
    ['a list', '[]', 400],
    ['no kind', '{}', 400],
    ['an unknown kind', '{"kind":"constructor","id":"acme"}', 400],
    ['an unknown field', { ...BLOCK, colour: 'red' }, 400],
    ['a prototype', '{"kind":"block","id":"acme","for":"1h","__proto__":{"by":"x"}}', 400],
    ['no id', { kind: 'block', for: '1h' }, 400],
    ['an id of another type', { ...BLOCK, id: 7 }, 400],
    ['no end', { kind: 'block', id: 'acme' }, 400],
    ['an end that is none', { ...BLOCK, for: 'long' }, 400],
    ['an end in the past', { kind: 'block', id: 'acme', until: '2020-01-01T00:00:00Z' }, 400],
    ['a factor out of range', { kind: 'override', id: 'acme', factor: -1, for: '1h' }, 400],
    ['a plan that does not exist', { kind: 'scale', plan: 'gold', factor: 2, for: '1h' }, 400],
    ['limits that are none', { kind: 'override', id: 'acme', limits: ['many'], for: '1h' }, 400],
    ['nothing to lift', { kind: 'lift', id: 'acme' }, 400],
    ['a scale of no plan to lift', { kind: 'lift', lifts: 'scale' }, 400],
    ['a mistyped plan', { kind: 'reset', id: 'acme', plan: 'prp' }, 400],
    ['a beginning of ids to reset', { kind: 'reset', id: 'trial-', isPrefix: true }, 400],
    ['a beginning of ids to top up', { kind: 'topUp', id: 'trial-', isPrefix: true }, 400],
    ['units that are none', { kind: 'topUp', id: 'acme', limit: 'hour', units: 0, key: 'a', for: '1h' }, 400],
    ['more than a change needs', { ...BLOCK, reason: 'x'.repeat(20_000) }, 413],
  ])('refuses %s, and says why', async (_, body, expected) => {
    const mounted = await mount()
    const answer = await post(mounted, body)
    expect(answer.status).toBe(expected)
    expect(await rulesOf(mounted)).toEqual([])
    // There the parser of the application refuses it.
    if (name === 'Express' && _ === 'no JSON') return
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(jsonOf(answer).detail).toMatch(/^\S.*\.$/)
  })

  test('reads no more of a body than a change can have, and nothing of it for who may not', async () => {
    const mounted = await mount()
    const long = JSON.stringify({ ...BLOCK, reason: 'x'.repeat(2_000_000) })
    expect((await post(mounted, long)).status).toBe(413)
    expect((await post(mounted, long, { ...OWN, 'sec-fetch-site': 'cross-site' })).status).not.toBe(200)
    expect(await rulesOf(mounted)).toEqual([])
  })

  test('who only asks for the head of the stream follows nothing', async () => {
    const mounted = await mount()
    const limiter = limiterOf.get(mounted) as Limiter
    for (let i = 0; i < 120; i += 1)
      expect((await mounted.ask('/_tollgate/api/live', { method: 'HEAD' })).status).toBe(200)
    const read = jest.spyOn(limiter, 'traffic')
    expect(await mounted.follow('/_tollgate/api/live', 1)).toHaveLength(1)
    expect(read.mock.calls.length).toBeLessThan(3)
  })

  test('takes no form', async () => {
    const mounted = await mount()
    const headers = { ...OWN, 'content-type': 'text/plain' }
    expect((await post(mounted, BLOCK, headers)).status).toBe(415)
  })

  test('streams figures, and reads nothing once nobody looks', async () => {
    const mounted = await mount()
    const limiter = limiterOf.get(mounted) as Limiter
    for (let i = 0; i < 7; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
    const read = jest.spyOn(limiter, 'traffic')
    const events = await mounted.follow('/_tollgate/api/live', 2)
    expect(events).toHaveLength(2)
    const [first] = events.map((event) => event.split('\ndata: '))
    expect(first?.[0]).toBe('event: overview')
    expect(JSON.parse(first?.[1] as string)).toMatchObject({
      figures: {
        requests: 7,
        denied: 2,
        busiest: [{ subject: 'acme', plan: 'free', requests: 7, denied: 2 }],
      },
      process: { status: 'ok', answeredBy: { store: 7 } },
      samples: [{ storeMs: expect.any(Number) }],
    })
    // The client leaves, and its host notices some time later.
    await stops(() => read.mock.calls.length)
  })
})

/** Resolves once a count has not changed for two of the times at which figures are read. */
async function stops(count: () => number): Promise<void> {
  for (let [known, since] = [count(), Date.now()]; Date.now() < since + 5000;) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    if (count() !== known) [known, since] = [count(), Date.now()]
  }
}
