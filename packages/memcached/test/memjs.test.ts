// What memjs does when its connection is lost, and the store on it.
import { eventually, startMemcached, startProxy, type MemcachedServer } from '@tollgate/testing'
import memjs from 'memjs'
import type { Memcached } from '../src/index.ts'
import { newPrefix, Processes } from './support.ts'

let server: MemcachedServer
const processes = new Processes()

beforeAll(async () => {
  server = await startMemcached()
})
afterAll(async () => {
  await processes.stop()
  await server.kill()
})

test('a connection that is lost in the middle of a response: the next one is understood', async () => {
  const proxy = await startProxy(server)
  // It gives a connection up after so many seconds without a response.
  const settings = { timeout: 0.1, logger: { log: () => {} } }
  const client = memjs.Client.create(`127.0.0.1:${proxy.port}`, settings as memjs.ClientOptions)
  const options = { limit: '1000/h', onStoreFailure: 'closed', deadlineMs: 200 } as const
  const limiter = processes.start(client as unknown as Memcached, options, { prefix: newPrefix() })
  const decidedBy = async (source: string): Promise<void> =>
    eventually(async () => expect((await limiter.consume('acme')).source).toBe(source))
  await decidedBy('store')
  for (let i = 0; i < 2; i += 1) {
    // Less than the header of a response, which has 24 bytes.
    proxy.cutAfterBytes(10)
    await decidedBy('closed')
    await proxy.restore()
    await decidedBy('store')
  }
  client.close()
  await proxy.close()
})
