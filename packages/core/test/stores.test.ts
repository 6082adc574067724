import { storeContract, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { memoryStore } from '../src/stores/memory/memory-store.js'
import { redisStore } from '../src/stores/redis/redis-store.js'

const client = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false })
afterAll(() => client.quit())

storeContract('memory', () => memoryStore())
storeContract('Redis', () => redisStore(client, { prefix: testPrefix() }))
