import { isDeep, startMemcached, storeContract, type MemcachedServer } from '@tollgate/testing'
import { randomBytes } from 'node:crypto'
import Memcached from 'memcached'
import memjs from 'memjs'
import { memcachedStore, type Memcached as Servers } from '../src/index.ts'

let server: MemcachedServer
let clients: Record<string, Servers>
let memjsClient: memjs.Client
let nodeMemcached: Memcached

beforeAll(async () => {
  server = await startMemcached()
  memjsClient = memjs.Client.create(server.address)
  nodeMemcached = new Memcached(server.address, { retry: 1000, failures: 1e9 })
  clients = {
    'an address': server.address,
    memjs: memjsClient as unknown as Servers,
    'node memcached': nodeMemcached as unknown as Servers,
  }
})

afterAll(async () => {
  memjsClient.close()
  nodeMemcached.end()
  await server.kill()
})

for (const name of isDeep ? ['an address', 'memjs', 'node memcached'] : ['an address']) {
  storeContract(
    `Memcached by ${name}`,
    () => memcachedStore(clients[name] as Servers, { prefix: `t${randomBytes(6).toString('hex')}` }),
    { falseDenials: true, windows: 'aligned', clockErrorMs: 2100 },
  )
}
