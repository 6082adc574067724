import { Cluster, Redis } from 'ioredis'
import { redisStore } from '../../../src/index.js'
import { shardOf } from '../../../src/requests/key.js'
import { shardTags, hashSlotFor } from '../../../src/stores/redis/layout.js'

describe('shards', () => {
  test.each([1, 3, 16, 64, 1000, 1024])('%p are spread evenly over all slots', (count) => {
    const slots = shardTags(count).map((tag) => hashSlotFor(`p:{${tag}}:x`))
    slots.forEach((slot, shard) => expect(Math.floor((slot * count) / 16_384)).toBe(shard))
    expect(new Set(shardTags(count)).size).toBe(count)
  })

  test('never change: keys of today must be found tomorrow', () => {
    expect(shardTags(16).join()).toMatchInlineSnapshot(`"18,3,61,58,19,2,60,59,102,1,63,49,103,0,62,48"`)
    expect(['', 'a', '@acme'].map((key) => shardOf(key, 16))).toMatchInlineSnapshot(`
[
  5,
  12,
  5,
]
`)
  })

  test('get equally many keys', () => {
    const counts = new Array<number>(16).fill(0)
    for (let i = 0; i < 16_000; i += 1) (counts[shardOf(`tenant-${i}`, 16)] as number) += 1
    for (const count of counts) expect(Math.abs(count - 1000)).toBeLessThan(150)
  })

  test('are for cluster clients only, and a whole number', () => {
    const single = new Redis({
      lazyConnect: true,
      autoResendUnfulfilledCommands: false,
      retryStrategy: () => 50,
    })
    expect(() => redisStore(single, { shards: 16 })).toThrow(
      /^shards: only a cluster client has shards.*leave `shards` out/,
    )
    const options = {
      lazyConnect: true,
      retryDelayOnFailover: 0,
      enableOfflineQueue: false,
      clusterRetryStrategy: () => 50,
    }
    const cluster = new Cluster([{ port: 1 }], options)
    for (const shards of [0, 1.5, 1025, '4']) {
      expect(() => redisStore(cluster, { shards: shards as number })).toThrow(/^shards: got/)
    }
    const store = redisStore(cluster, { shards: 5 })
    expect([store.shards, store.atomic]).toEqual([5, true])
    expect(redisStore(single).shards).toBeUndefined()
  })
})
