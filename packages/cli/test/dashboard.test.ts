// The built binary serves the dashboard on this machine, for one browser, until it is interrupted.
import { spawn, type ChildProcess } from 'node:child_process'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { startRedis, testRedisUrl } from '@tollgate/testing'
import { Application } from './application.ts'
import { tollgate } from './command-line.ts'

const app = new Application()
const running: ChildProcess[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

interface Serving {
  readonly origin: string
  readonly link: string
  /** Interrupts it. Resolves with what it ended with. */
  stop(): Promise<number | null>
}

async function serve(args: readonly string[], env: Record<string, string> = {}): Promise<Serving> {
  const binary = join(__dirname, '../bin/tollgate.js')
  const child = spawn(process.execPath, [binary, 'dashboard', '--json', '--prefix', app.prefix, ...args], {
    cwd: app.elsewhere.cwd,
    env: { PATH: process.env['PATH'] ?? '', REDIS_URL: testRedisUrl(), ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  running.push(child)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const link = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += chunk.toString()
      const [url] = /http:[^"]*/.exec(said) ?? []
      if (url) resolve(url)
    })
    child.once('close', (code) => reject(new Error(`It ended with ${code}: ${said}`)))
  })
  const stop = (): Promise<number | null> => {
    child.kill('SIGINT')
    return ended
  }
  return { origin: new URL(link).origin, link, stop }
}

/** A browser that has opened the link. */
async function enter({
  origin,
  link,
}: Serving): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const { status, headers } = await fetch(link, { redirect: 'manual' })
  expect([status, headers.get('location')]).toEqual([302, '/'])
  const cookie = headers.get('set-cookie')?.split(';')[0] as string
  const own = { cookie, 'x-tollgate': '1', origin, 'content-type': 'application/json' }
  return (path, init) => fetch(origin + path, { ...init, headers: own })
}

test('shows a customer with the plans of the application, and changes what the application does', async () => {
  for (let i = 0; i < 7; i += 1) await app.limiter.consume({ id: 'acme', plan: 'free' })
  await app.limiter.traffic()
  const serving = await serve([])
  expect((await fetch(`${serving.origin}/`)).status).toBe(403)
  const ask = await enter(serving)
  expect(await (await ask('/api/session')).json()).toMatchObject({
    actions: expect.arrayContaining(['block', 'topUp']),
    plans: [{ name: 'free' }, { name: 'pro' }, {}, {}],
  })
  expect(await (await ask('/api/overview')).json()).toMatchObject({ figures: { requests: 7, denied: 2 } })
  expect(await (await ask('/api/subject?id=acme')).json()).toMatchObject({
    ...{ plan: 'free', planFrom: 'requests' },
    limits: [
      { name: 'hour', used: 5 },
      { name: 'month', used: 5 },
    ],
  })
  const block = { kind: 'block', id: 'acme', for: '1h', reason: 'abuse' }
  expect((await ask('/api/changes', { method: 'POST', body: JSON.stringify(block) })).status).toBe(200)
  expect(await app.rules()).toMatchObject([
    { kind: 'block', of: 'acme', reason: 'abuse', by: expect.any(String) },
  ])
  expect(await serving.stop()).toBe(0)
  await expect(fetch(serving.origin)).rejects.toThrow('fetch failed')
})

test('books on the plan that only the application knows, also after an upgrade', async () => {
  await app.limiter.close()
  let plan = 'free'
  const plans = { free: { quota: 10, window: 'day' }, pro: { quota: 100, window: 'month' } } as const
  const limiter = app.another({ plans, defaultPlan: 'free', planOf: () => plan, planCache: { ttlMs: 1 } })
  await limiter.consume({ id: 'acme' })
  await limiter.traffic()
  const serving = await serve([])
  const ask = await enter(serving)
  const topUp = async (key: string): Promise<unknown> => {
    const body = JSON.stringify({ kind: 'topUp', id: 'acme', limit: 'month', units: 5, key, for: '30d' })
    return (await ask('/api/changes', { method: 'POST', body })).json()
  }
  const seen = async (): Promise<unknown> => (await ask('/api/subject?id=acme')).json()
  expect(await seen()).toMatchObject({ plan: 'free', planFrom: 'application' })
  plan = 'pro'
  limiter.forgetPlan('acme')
  expect(await topUp('order-1')).toMatchObject({ done: true })
  expect(await seen()).toMatchObject({ plan: 'pro', limits: [{ quota: 100, toppedUp: 5 }] })
  await limiter.close()
  expect(await serving.stop()).toBe(0)
})

test('--read-only changes nothing', async () => {
  const serving = await serve(['--read-only'])
  const ask = await enter(serving)
  const { status } = await ask('/api/changes', {
    method: 'POST',
    body: '{"kind":"block","id":"acme","for":"1h"}',
  })
  expect([status, await app.rules()]).toEqual([405, []])
  expect(await serving.stop()).toBe(0)
})

test('goes on after Redis was gone', async () => {
  const one = await startRedis()
  const url = `redis://127.0.0.1:${one.port}`
  const serving = await serve([], { REDIS_URL: url })
  const ask = await enter(serving)
  const figures = async (): Promise<unknown> =>
    ((await (await ask('/api/overview')).json()) as { readonly figures: unknown }).figures
  expect(await figures()).toMatchObject({ processes: 0 })
  await one.kill()
  while ((await figures()) !== null) await new Promise((resolve) => setTimeout(resolve, 100))
  const again = await startRedis({ port: one.port })
  while ((await figures()) === null) await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await serving.stop()).toBe(0)
  await again.stop()
})

test('says what is wrong with a port, and with a Redis that is not there', async () => {
  const env = { REDIS_URL: testRedisUrl() }
  const taken = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => taken.once('listening', resolve))
  const { port } = taken.address() as AddressInfo
  expect(await tollgate(['dashboard', '--port', String(port)], { env })).toEqual({
    ...{ code: 2, stdout: '' },
    stderr: `--port: ${port} cannot be used (EADDRINUSE).\nPass another --port, or none for a free one.\n`,
  })
  taken.close()
  expect(await tollgate(['dashboard', '--port', '70000'], { env })).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('--port') },
  })
  expect((await tollgate(['dashboard'], { env: { REDIS_URL: 'redis://127.0.0.1:1' } })).code).toBe(3)
})
