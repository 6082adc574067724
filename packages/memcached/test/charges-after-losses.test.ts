// Units that were used while Memcached was away, charged to a counter that it has lost meanwhile.
import { limitSetOf, StoreError, type Store, type StoreRequest } from '@tollgate/core/store'
import { eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import { connect, type Socket } from 'node:net'
import { memcachedStore } from '../src/index.ts'
import { newPrefix } from './support.ts'

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

const set = limitSetOf({ quota: 100, window: '10 h', algorithm: 'fixed-window' })
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

/** A store that sends each text by `send`. */
function storeOf(send: (socket: Socket, text: string, write: () => void) => void): Store {
  const store = memcachedStore(server.address, {
    prefix,
    connect: (address) => {
      const socket = connect(address as { host: string; port: number })
      const { write } = socket
      socket.write = ((text: string, ...rest: []) => {
        send(socket, text, () => void write.call(socket, text, ...rest))
        return true
      }) as typeof socket.write
      return socket
    },
  })
  stores.push(store)
  return store
}
const plain = (): Store => storeOf((_socket, _text, write) => write())

async function lose(): Promise<void> {
  const socket = connect(server.port, '127.0.0.1')
  const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))))
  socket.write('flush_all\r\n')
  expect(await answer).toBe('OK\r\n')
  socket.destroy()
}

async function remaining(store: Store): Promise<number> {
  const [answer] = await store.peek([asking(1)])
  return (answer as Exclude<typeof answer, Error | undefined>).limits[0]?.remaining as number
}

/** It comes up to what this process knew: the request of the other one is within that. */
const AFTERWARDS = 100 - 60 - 10

/** What puts a lost counter back. */
const RESTORES = /^m[as] \S+=acme:/m

test('another process makes the counter anew just before this one puts it back: nothing is forgotten', async () => {
  const other = plain()
  let made: Promise<unknown> | undefined
  const store = storeOf((_socket, text, write) => {
    if (!isLost || made || !RESTORES.test(text)) return write()
    made = Promise.resolve(other.consume([asking(1)])).then(write)
  })
  let isLost = false
  await store.consume([asking(60)])
  await lose()
  isLost = true
  expect(await store.consume([charging(10)])).toMatchObject([{ limits: [{ granted: 10 }] }])
  expect(made).toBeDefined()
  expect(await remaining(plain())).toBe(AFTERWARDS)
})

test('the command that puts it back fails: the next charge does so', async () => {
  const other = plain()
  let isCut = false
  const store = storeOf((socket, text, write) => {
    if (!isCut || !RESTORES.test(text)) return write()
    isCut = false
    socket.destroy()
  })
  await store.consume([asking(60)])
  await lose()
  await other.consume([asking(1)])
  isCut = true
  expect(await store.consume([charging(10)])).toEqual([expect.any(StoreError)])
  await eventually(async () => {
    expect(await store.consume([charging(10)])).toMatchObject([{ limits: [{ granted: 10 }] }])
  })
  expect(await remaining(plain())).toBe(AFTERWARDS)
})
