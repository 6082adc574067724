// What Memcached forgets: evictions, a flush, a restart. What a process knows of a counter, it puts back.
import type { Limiter } from '@tollgate/core'
import { eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import { allowed, command, consumeAll, newPrefix, Processes } from './support.ts'

let server: MemcachedServer
const processes = new Processes()

beforeEach(async () => {
  server = await startMemcached()
})
afterEach(async () => {
  await processes.stop()
  await server.kill()
})

function evictedIn(limiter: Limiter): () => number {
  let subjects = 0
  limiter.on('evicted', (count) => void (subjects += count))
  return () => subjects
}

test('a flush in mid-window: the process that knows a counter puts it back, and tells of the loss', async () => {
  const limiter = processes.start(server.address, { limit: '10/h' })
  const evicted = evictedIn(limiter)
  expect(allowed(await consumeAll(limiter, 'acme', 7))).toBe(7)
  expect(await command(server, 'flush_all')).toBe('OK\r\n')
  expect(allowed(await consumeAll(limiter, 'acme', 9))).toBe(3)
  await eventually(() => expect(evicted()).toBe(1))
})

test('a look puts it back, too, and so do denied requests', async () => {
  const limiter = processes.start(server.address, { limit: '10/h' })
  const evicted = evictedIn(limiter)
  await consumeAll(limiter, 'acme', 10)
  await command(server, 'flush_all')
  expect((await limiter.peek('acme')).limits[0]).toMatchObject({ used: 10 })
  await command(server, 'flush_all')
  expect(allowed(await consumeAll(limiter, 'acme', 5))).toBe(0)
  await eventually(() => expect(evicted()).toBe(2))
  const fresh = processes.start(server.address, { limit: '10/h' }, { prefix: newPrefix() })
  expect(allowed(await consumeAll(fresh, 'acme', 11))).toBe(10)
})

test('a counter that another process made anew gets what this one knows more of it', async () => {
  const prefix = newPrefix()
  const limit = { limit: '100/h' }
  const [knowing, other] = [0, 1].map(() => processes.start(server.address, limit, { prefix })) as [
    Limiter,
    Limiter,
  ]
  const evicted = evictedIn(knowing)
  await consumeAll(other, 'acme', 5)
  await consumeAll(knowing, 'acme', 60)
  await command(server, 'flush_all')
  // It knew of 5, the other of 65: 5 + 1 stand there now.
  expect(allowed(await consumeAll(other, 'acme', 1))).toBe(1)
  expect(allowed(await consumeAll(knowing, 'acme', 1))).toBe(1)
  await eventually(() => expect(evicted()).toBe(1))
  const { limits } = await other.peek('acme')
  expect(limits[0]?.used).toBeGreaterThanOrEqual(66)
  expect(limits[0]?.used).toBeLessThanOrEqual(67)
})

test('of a lost window before, what a process knows still counts', async () => {
  let now = Date.UTC(2026, 9, 14, 12, 59)
  const clock = { prefix: newPrefix(), now: () => now }
  const limiter = processes.start(server.address, { limit: '100/h' }, clock)
  await consumeAll(limiter, 'acme', 100)
  now += 2 * 60_000
  expect(allowed(await consumeAll(limiter, 'acme', 1))).toBe(1)
  await command(server, 'flush_all')
  now += 60_000
  // 2 min of 60 have passed: 97 of the 100 still count, and the one since.
  expect((await limiter.peek('acme')).limits[0]).toMatchObject({ used: 97 + 1 })
  now += 10_000
  expect((await limiter.peek('acme')).limits[0]).toMatchObject({ used: 97 + 1 })
})

test('a restart: no more than the quota and what the process did not know', async () => {
  const prefix = newPrefix()
  const limiter = processes.start(server.address, { limit: '10/h', onStoreFailure: 'closed' }, { prefix })
  const evicted = evictedIn(limiter)
  expect(allowed(await consumeAll(limiter, 'acme', 6))).toBe(6)
  const { port } = server
  await server.kill()
  expect(await limiter.consume('acme')).toMatchObject({ allowed: false, reason: 'store-unavailable' })
  server = await startMemcached({ port })
  await eventually(async () => expect((await limiter.consume('other')).source).toBe('store'))
  expect(allowed(await consumeAll(limiter, 'acme', 9))).toBe(4)
  await eventually(() => expect(evicted()).toBeGreaterThanOrEqual(1))
})

test('a restart while this process limits by itself: what it knew and what it let in both count afterwards', async () => {
  const prefix = newPrefix()
  const options = {
    limit: { quota: 100, window: '10 h', algorithm: 'fixed-window' },
    deadlineMs: 500,
  } as const
  const [limiter, other] = [0, 1].map(() => processes.start(server.address, options, { prefix })) as [
    Limiter,
    Limiter,
  ]
  const reconciled: number[] = []
  limiter.on('reconciliation', ({ units }) => void reconciled.push(units))
  expect(allowed(await consumeAll(other, 'acme', 1))).toBe(1)
  expect(allowed(await consumeAll(limiter, 'acme', 60))).toBe(60)
  const { port } = server
  await server.kill()
  const alone = allowed(await consumeAll(limiter, 'acme', 10))
  expect(alone).toBeGreaterThan(0)
  server = await startMemcached({ port })
  // The other one makes the counter anew: it knew of one request.
  await eventually(async () => expect((await other.consume('acme')).source).toBe('store'))
  await eventually(async () => expect((await limiter.consume('somebody')).source).toBe('store'))
  await eventually(() => expect(reconciled.reduce((sum, units) => sum + units, 0)).toBe(alone))
  const { limits } = await limiter.peek('acme')
  expect(limits[0]?.used).toBeGreaterThanOrEqual(60 + alone)
})

test('a reset after a loss: nothing is put back, by this process or another', async () => {
  const prefix = newPrefix()
  const [one, other] = [0, 1].map(() => processes.start(server.address, { limit: '10/h' }, { prefix })) as [
    Limiter,
    Limiter,
  ]
  await consumeAll(one, 'acme', 10)
  expect(allowed(await consumeAll(other, 'acme', 1))).toBe(0)
  await command(server, 'flush_all')
  expect(await one.reset('acme')).toBe(true)
  expect(allowed(await consumeAll(other, 'acme', 4))).toBe(4)
  expect(allowed(await consumeAll(one, 'acme', 20))).toBe(6)
})

test('evictions under load: what this process knows is not lost', async () => {
  await server.kill()
  // The least that Memcached takes, of which each value fills 4 kB: the load fills it several times over.
  server = await startMemcached({ args: ['-m', '2', '-n', '4000'] })
  const prefix = newPrefix()
  const limiter = processes.start(server.address, { limit: '5/h' }, { prefix })
  const evicted = evictedIn(limiter)
  const ids = Array.from({ length: 3000 }, (_, i) => `tenant-${i}`)
  for (let round = 0; round < 2; round += 1) {
    for (let i = 0; i < ids.length; i += 1000) {
      const some = ids.slice(i, i + 1000)
      const decisions = await Promise.all(some.map(async (id) => limiter.consume(id, { cost: 4 })))
      expect(allowed(decisions)).toBe(round === 0 ? some.length : 0)
    }
  }
  await eventually(() => expect(evicted()).toBeGreaterThan(100))
})

test('a value that is not of Tollgate is a fault of that request, and of no other', async () => {
  const prefix = newPrefix()
  const limiter = processes.start(server.address, { limit: '5/h', onStoreFailure: 'closed' }, { prefix })
  const errors: string[] = []
  limiter.on('storeError', (error) => void errors.push(error.reason))
  await limiter.consume('acme')
  const keys = await command(server, 'lru_crawler metadump all')
  const [, key = ''] = new RegExp(`key=(${prefix}%2F%3Dacme\\S*)`).exec(keys) ?? []
  for (const value of ['abc', '7', '99999999999999999999']) {
    const write = `set ${decodeURIComponent(key)} 0 60 ${value.length}\r\n${value}`
    expect(await command(server, write)).toBe('STORED\r\n')
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'closed' })
    expect(await limiter.consume('other')).toMatchObject({ source: 'store' })
  }
  expect(errors).toEqual(['foreign-value', 'foreign-value', 'foreign-value'])
})
