import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ask, eventually, findRedisBinary, freePort, startRedis, type RedisServer } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { createSentinel } from 'redis'
import { createSentinel as createSentinel5 } from 'redis5'
import { createLimiter, redisStore, type RedisClient } from '../../../src/index.js'

const NAME = 'mymaster'
let primary: RedisServer
let replica: RedisServer
let sentinel: ChildProcess
let port: number
let folder: string

beforeAll(async () => {
  primary = await startRedis()
  replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(primary.port)] })
  port = await freePort()
  folder = mkdtempSync(join(tmpdir(), 'tollgate-sentinel-'))
})
afterAll(async () => {
  sentinel.kill()
  await Promise.all([primary.kill(), replica.kill()])
  rmSync(folder, { recursive: true, force: true })
})

function startSentinel(): void {
  const file = join(folder, 'sentinel.conf')
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `sentinel monitor ${NAME} 127.0.0.1 ${primary.port} 1`,
    `sentinel down-after-milliseconds ${NAME} 500`,
    `sentinel failover-timeout ${NAME} 3000`,
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  sentinel = spawn(findRedisBinary(), [file, '--sentinel'], { stdio: 'ignore' })
}

test('clients of Sentinel: before it is up, then with the primary, then with its successor', async () => {
  const nodes = [{ host: '127.0.0.1', port }]
  const options = {
    name: NAME,
    sentinelRootNodes: nodes,
    maxCommandRediscovers: 0,
    scanInterval: 250,
    // A client that waits to reconnect keeps the process alive, even when it has been destroyed.
    nodeClientOptions: { disableOfflineQueue: true, socket: { reconnectStrategy: 50 } },
    sentinelClientOptions: { socket: { reconnectStrategy: 50 } },
  }
  const ioredis = new Redis({
    sentinels: nodes,
    name: NAME,
    failoverDetector: true,
    autoResendUnfulfilledCommands: false,
    retryStrategy: () => 50,
  })
  const sentinels = [createSentinel(options), createSentinel5(options)]
  const clients: RedisClient[] = [ioredis, ...sentinels]
  const limiters = clients.map((client, i) => {
    const limiter = createLimiter({ limit: '1000/min', store: redisStore(client, { prefix: `c${i}` }) })
    const reasons: string[] = []
    limiter.on('storeError', ({ reason }) => reasons.push(reason))
    return { limiter, reasons }
  })
  const decideAll = async (): Promise<void> => {
    await Promise.all(
      limiters.map(({ limiter }) =>
        eventually(async () => (await limiter.consume('acme')).source === 'store', 'the store decides'),
      ),
    )
  }
  for (const { limiter } of limiters) expect((await limiter.consume('acme')).source).toBe('local')
  startSentinel()
  await decideAll()
  await knowsReplica()
  for (const { reasons } of limiters) reasons.length = 0
  await primary.kill()
  await decideAll()
  for (const { reasons } of limiters) {
    expect(reasons.filter((reason) => !['unreachable', 'timeout', 'read-only'].includes(reason))).toEqual([])
  }
  ioredis.disconnect()
  for (const client of sentinels) await client.destroy()
  for (const { limiter, reasons } of limiters) {
    await limiter.consume('acme')
    expect(reasons.at(-1)).toBe('closed')
    await limiter.close()
  }
})

/** Sentinel asks a primary for its replicas only every ten seconds. */
function knowsReplica(): Promise<void> {
  return eventually(
    async () => String(await ask(port, 'SENTINEL', 'REPLICAS', NAME)).includes(String(replica.port)),
    'Sentinel knows the replica',
  )
}
