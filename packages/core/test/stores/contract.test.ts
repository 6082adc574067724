import { Clocks, storeContract, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { memoryStore } from '../../src/stores/memory/memory-store.js'
import { redisStore } from '../../src/stores/redis/redis-store.js'

const client = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
afterAll(() => client.disconnect())

const { make, passTime } = new Clocks()

storeContract('memory', () => make((now) => memoryStore({ now })), { passTime })
storeContract('Redis', () => redisStore(client, { prefix: testPrefix() }))
storeContract(
  'Redis, by a clock of the test',
  () => make((now) => redisStore(client, { prefix: testPrefix(), now })),
  {
    passTime,
  },
)
