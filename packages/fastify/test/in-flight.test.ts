// A place of the plugin has slots of its own where it has counters of its own, and shares those of the plugin elsewhere.
import type { FastifyInstance } from 'fastify'
import { createLimiter, rateLimit } from '../src/index.js'
import { byKey, ok, useApp } from './support/app.ts'

let app: FastifyInstance
const { get, statuses } = useApp((made) => {
  app = made
})
const acme = { headers: { 'x-api-key': 'acme' } }

/** A handler that answers when the test says so. */
function held(): { handler: () => Promise<string>; entered: Promise<void>; answer: () => void } {
  let answer = (): void => {}
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => (enter = resolve))
  const handler = (): Promise<string> =>
    new Promise((resolve) => {
      answer = () => resolve('ok')
      enter()
    })
  return { handler, entered, answer: () => answer() }
}

test('a route with a group of its own is held to it, and the others run', async () => {
  const { handler, entered, answer } = held()
  const limiter = createLimiter({ limit: '2 concurrent' })
  await app.register(rateLimit, { limiter, identify: byKey })
  app.get('/', ok)
  app.get('/export', { config: { rateLimit: { group: 'export', limit: '1 concurrent' } } }, handler)
  const first = get('/export', acme)
  await entered
  const denied = await get('/export', acme)
  expect([denied.status, denied.headers['retry-after']]).toEqual([429, '1'])
  expect(await statuses(3, '/', acme)).toEqual([200, 200, 200])
  answer()
  expect((await first).status).toBe(200)
  expect(limiter.stats().inFlight).toBe(0)
})

test('a route without one shares the slots of the plugin, once for each request', async () => {
  const { handler, entered, answer } = held()
  const limiter = createLimiter({ limit: '1 concurrent' })
  await app.register(rateLimit, { limiter, identify: byKey })
  app.get('/', ok)
  app.get('/slow', { config: { rateLimit: { cost: 5 } } }, handler)
  const first = get('/slow', acme)
  await entered
  expect([await statuses(1, '/', acme), limiter.stats().inFlight]).toEqual([[429], 1])
  answer()
  expect((await first).status).toBe(200)
  expect(await statuses(2, '/', acme)).toEqual([200, 200])
})

test('a reply that was hijacked holds its slot until the response is over', async () => {
  const limiter = createLimiter({ limit: '1 concurrent' })
  await app.register(rateLimit, { limiter, identify: byKey })
  let raw: { end: (text: string) => void } | undefined
  let enter = (): void => {}
  const entered = new Promise<void>((resolve) => (enter = resolve))
  app.get('/', (_request, reply) => {
    reply.hijack()
    raw = reply.raw
    enter()
  })
  const first = get('/', acme)
  await entered
  expect(await statuses(1, '/', acme)).toEqual([429])
  raw?.end('done')
  expect([(await first).body, limiter.stats().inFlight]).toEqual(['done', 0])
})
