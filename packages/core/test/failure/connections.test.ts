import { startProxy, testPrefix, type Proxy } from '@tollgate/testing'
import { createLimiter, redisStore } from '../../src/index.js'
import { connect, DEADLINE_MS, endFaults, server } from '../support/faults.js'
import { eventually } from '../support/outage.js'

let proxy: Proxy | undefined

afterEach(async () => {
  await endFaults()
  await proxy?.close()
})

test('a connection that was lost without a word is replaced, with socketTimeout', async () => {
  const redis = await server()
  proxy = await startProxy(redis)
  const client = connect(proxy.port, { socketTimeout: 500 })
  const store = redisStore(client, { prefix: testPrefix() })
  const limiter = createLimiter({ limit: '100/min', store, deadlineMs: DEADLINE_MS })
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  let made = 0
  client.on('connect', () => (made += 1))
  proxy.blackholeOpen()
  expect((await limiter.consume('acme')).source).toBe('local')
  await eventually(async () => (await limiter.consume('acme')).source === 'store')
  expect(made).toBe(1)
})
