import { storeContract, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { memoryStore, redisStore, type Store } from '../src/index.js'
import { compileLimits } from '../src/limit-set.js'
import { parseLimit } from '../src/limit.js'

const client = new Redis(testRedisUrl(), { autoResendUnfulfilledCommands: false })
afterAll(() => client.quit())

const set = compileLimits([parseLimit('5/min', 'limit')])
const request = (key: string, cost = 1): Parameters<Store['consume']>[0][number] => ({ key, set, cost })

storeContract('memory', () => ({ store: memoryStore(), request }))
storeContract('Redis', () => ({ store: redisStore(client, { prefix: testPrefix() }), request }))

test.each([0, -1, 1.5, Number.NaN, '5'])('maxSubjects of %p is refused at construction', (maxSubjects) => {
  expect(() => memoryStore({ maxSubjects: maxSubjects as number })).toThrow(
    expect.objectContaining({ path: 'maxSubjects' }),
  )
})
