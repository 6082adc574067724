// With skipFailedRequests, express-rate-limit takes refused requests back, too: they have taken nothing.
import { once } from 'node:events'
import { connect } from 'node:net'
import { memoryStore } from '@tollgate/core'
import { tollgateStore, type TollgateStore } from '@tollgate/stores/express-rate-limit'
import { eventually, serveHandler } from '@tollgate/testing'
import express from 'express'
import { rateLimit } from 'express-rate-limit'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Limited {
  readonly url: string
  readonly store: TollgateStore
  /** How many requests the middleware has taken back. */
  readonly decrements: () => number
}

/** Serves 2 requests a minute. The others are refused when `refuse` calls. */
async function serve(refuse: (answer: () => void) => void): Promise<Limited> {
  const store = tollgateStore(memoryStore())
  let over = 0
  const decrement = store.decrement.bind(store)
  store.decrement = async (key) => {
    await decrement(key)
    over += 1
  }
  const app = express()
  app.use(
    rateLimit({
      ...{ windowMs: 60_000, limit: 2, store, skipFailedRequests: true, keyGenerator: () => 'acme' },
      handler: (_request, response) => refuse(() => response.status(429).send('no')),
    }),
  )
  app.get('/', (_request, response) => void response.send('hello'))
  const served = await serveHandler(app)
  closers.push(() => served.close())
  return { url: served.url, store, decrements: () => over }
}

const statusOf = async ({ url }: Limited): Promise<number> => (await fetch(url)).status
const used = async ({ store }: Limited): Promise<number | undefined> => (await store.get('acme'))?.totalHits

test('refused requests that leave before they are answered free nothing', async () => {
  const waiting: (() => void)[] = []
  const app = await serve((answer) => waiting.push(answer))
  expect([await statusOf(app), await statusOf(app)]).toEqual([200, 200])
  const leaving = new AbortController()
  const asked = Array.from({ length: 4 }, async () => fetch(app.url, { signal: leaving.signal }))
  const left = Promise.allSettled(asked)
  await eventually(() => waiting.length === 4)
  leaving.abort()
  expect((await left).map(({ status }) => status)).toEqual(Array(4).fill('rejected'))
  await eventually(() => app.decrements() === 4)
  expect(await used(app)).toBe(2)
})

test('refused requests behind others on one connection free nothing', async () => {
  const app = await serve((answer) => answer())
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => (received += text))
  const get = (more = ''): string => `GET / HTTP/1.1\r\nHost: x\r\n${more}\r\n`
  socket.write(get().repeat(5) + get('Connection: close\r\n'))
  await once(socket, 'close')
  const statuses = [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  expect(statuses.join()).toBe('200,200,429,429,429,429')
  await eventually(() => app.decrements() === 4)
  expect(await used(app)).toBe(2)
})

test('a decrement that does not say of which request frees nothing', async () => {
  const app = await serve((answer) => answer())
  expect([await statusOf(app), await statusOf(app), await statusOf(app)]).toEqual([200, 200, 429])
  await app.store.decrement('acme')
  expect(await used(app)).toBe(2)
})
