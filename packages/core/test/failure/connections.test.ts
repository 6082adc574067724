import { eventually, startProxy, testPrefix, type Proxy } from '@tollgate/testing'
import { createLimiter, redisStore } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, endFaults, server } from '../support/faults.js'

let proxy: Proxy | undefined

afterEach(async () => {
  // First, since a client that waits for a silent connection to end keeps the process up.
  await proxy?.close()
  await endFaults()
})

test('a connection that was lost without a word is replaced, with socketTimeout', async () => {
  const redis = await server()
  proxy = await startProxy(redis)
  const client = connect(proxy.port, { socketTimeout: 500 })
  const store = redisStore(client, { prefix: testPrefix() })
  const limiter = closesWithTest(createLimiter({ limit: '100/min', store, deadlineMs: DEADLINE_MS }))
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  let made = 0
  client.on('connect', () => (made += 1))
  proxy.blackholeOpen()
  expect((await limiter.consume('acme')).source).toBe('local')
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  // More, where the machine is silent for so long itself.
  expect(made).toBeGreaterThanOrEqual(1)
})
