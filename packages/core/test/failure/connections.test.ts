import { eventually, startProxy, testPrefix, type Proxy } from '@tollgate/testing'
import { createLimiter, redisStore } from '../../src/index.js'
import { closesWithTest, connect, DEADLINE_MS, endFaults, server } from '../support/faults.js'

let proxy: Proxy | undefined

afterEach(async () => {
  // First, since a client that waits for the end of a silent connection keeps the process alive.
  await proxy?.close()
  await endFaults()
})

test('with socketTimeout, a connection that was lost silently is replaced', async () => {
  const redis = await server()
  proxy = await startProxy(redis)
  const client = connect(proxy.port, { socketTimeout: 500 })
  const store = redisStore(client, { prefix: testPrefix() })
  const limiter = closesWithTest(
    createLimiter({ limit: '100/min', store, deadlineMs: DEADLINE_MS, warnings: false }),
  )
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  let made = 0
  client.on('connect', () => (made += 1))
  proxy.blackholeOpen()
  expect((await limiter.consume('acme')).source).toBe('local')
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  // More than one if the machine itself is silent for that long.
  expect(made).toBeGreaterThanOrEqual(1)
})
