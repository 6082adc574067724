// A batch whose second trip is lost: what the first one decided stands.
import { createLimitSet, StoreError, type StoreRequest } from '@tollgate/core/store'
import { startMemcached, type MemcachedServer } from '@tollgate/testing'
import { memcachedStore } from '../src/index.ts'
import { connectBy, newPrefix } from './support.ts'

let server: MemcachedServer
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(() => server.kill())

const set = createLimitSet({ quota: 10, window: '10 h', algorithm: 'fixed-window' })
const asking = (key: string, cost: number): StoreRequest => ({
  shard: 0,
  grant: 'all',
  parts: [{ key, set, cost }],
})

test('only the request that was to be asked again has no answer', async () => {
  const prefix = newPrefix()
  let isCut = false
  const store = memcachedStore(server.address, {
    prefix,
    // The trips of `acme` that take units are lost; the first one only looks, since it is known to be full.
    connect: connectBy((socket, text, write) => {
      if (isCut && /^ma \S+=acme:/m.test(text)) socket.destroy()
      else write()
    }),
  })
  const other = memcachedStore(server.address, { prefix })
  await store.consume([asking('acme', 10)])
  // Another process gives it back, so a look shows that there is room.
  await other.reset(['acme'], 0, [set])
  isCut = true
  const [again, fits] = await store.consume([asking('acme', 4), asking('globex', 3)])
  expect(again).toBeInstanceOf(StoreError)
  expect(fits).toMatchObject({ limits: [{ wait: 0, remaining: 7 }] })
  await Promise.all([store.close?.(), other.close?.()])
})
