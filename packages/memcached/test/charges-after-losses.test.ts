// Units that were used while Memcached was away, charged to a counter that it has lost meanwhile.
import { createLimitSet, StoreError, type Store, type StoreRequest } from '@tollgate/core/store'
import { eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import { memcachedStore, type MemcachedStoreOptions } from '../src/index.ts'
import { command, connectBy, newPrefix } from './support.ts'

let server: MemcachedServer
const stores: Store[] = []
let prefix = ''
beforeAll(async () => {
  server = await startMemcached()
})
beforeEach(() => {
  prefix = newPrefix()
})
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close?.()))
})
afterAll(() => server.kill())

const set = createLimitSet({ quota: 100, window: '10 h', algorithm: 'fixed-window' })
const asking = (cost: number): StoreRequest => ({
  shard: 0,
  grant: 'all',
  parts: [{ key: 'acme', set, cost }],
})
const charging = (units: number): StoreRequest => ({
  shard: 0,
  grant: 'force',
  id: `charge-${prefix}`,
  parts: [{ key: 'acme', set, cost: units, used: [[{ units, ageUs: 0 }]] }],
})

function storeOf(options: MemcachedStoreOptions = {}): Store {
  const store = memcachedStore(server.address, { prefix, ...options })
  stores.push(store)
  return store
}
const lose = async (): Promise<void> => expect(await command(server, 'flush_all')).toBe('OK\r\n')

async function remaining(store: Store): Promise<number> {
  const [answer] = await store.peek([asking(1)])
  return (answer as Exclude<typeof answer, Error | undefined>).limits[0]?.remaining as number
}

/** It comes up to what this process knew: the request of the other one is within that. */
const AFTERWARDS = 100 - 60 - 10

/** What puts a lost counter back. */
const RESTORES = /^m[as] \S+=acme:/m

test('another process makes the counter anew just before this one puts it back: nothing is forgotten', async () => {
  const other = storeOf()
  let made: Promise<unknown> | undefined
  const connect = connectBy((_socket, text, write) => {
    if (!isLost || made || !RESTORES.test(text)) return write()
    made = Promise.resolve(other.consume([asking(1)])).then(write)
  })
  const store = storeOf({ connect })
  let isLost = false
  await store.consume([asking(60)])
  await lose()
  isLost = true
  expect(await store.consume([charging(10)])).toMatchObject([{ limits: [{ granted: 10 }] }])
  expect(made).toBeDefined()
  expect(await remaining(storeOf())).toBe(AFTERWARDS)
})

test('the command that puts it back fails: the next charge does so', async () => {
  const other = storeOf()
  let isCut = false
  const connect = connectBy((socket, text, write) => {
    if (!isCut || !RESTORES.test(text)) return write()
    isCut = false
    socket.destroy()
  })
  const store = storeOf({ connect })
  await store.consume([asking(60)])
  await lose()
  await other.consume([asking(1)])
  isCut = true
  expect(await store.consume([charging(10)])).toEqual([expect.any(StoreError)])
  await eventually(async () => {
    expect(await store.consume([charging(10)])).toMatchObject([{ limits: [{ granted: 10 }] }])
  })
  expect(await remaining(storeOf())).toBe(AFTERWARDS)
})
