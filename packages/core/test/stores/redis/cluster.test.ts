import { ask, deployCluster, eventually, startCluster, testPrefix, type Deployment } from '@tollgate/testing'
import { Cluster } from 'ioredis'
import { createCluster } from 'redis'
import { createLimiter, redisStore, type Decision, type RedisClient, type Store } from '../../../src/index.js'
import { compileLimits } from '../../../src/plans/limit-set.js'
import { parseLimit } from '../../../src/plans/limit.js'
import { shardOf } from '../../../src/requests/key.js'
import { ID_KEPT_MS, type Answer, type StoreRequest } from '../../../src/stores/contract.js'
import { shardTags, slotOf } from '../../../src/stores/redis/slots.js'

const set = compileLimits([parseLimit('100/min', 'limit')])
const request = (key: string, shards = 16): StoreRequest => ({
  shard: shardOf(key, shards),
  parts: [{ key, set, cost: 1 }],
  grant: 'all',
})

/** As the batcher sends them: a call for each shard. Answers in the order of the requests. */
async function consumeOf(store: Store, requests: readonly StoreRequest[]): Promise<Answer[]> {
  const answers: Answer[] = []
  const shards = new Set(requests.map(({ shard }) => shard))
  await Promise.all(
    [...shards].map(async (shard) => {
      const places = requests.flatMap((one, i) => (one.shard === shard ? [i] : []))
      const given = await Promise.resolve(
        store.consume(places.map((i) => requests[i] as StoreRequest)),
      ).catch((error: unknown) => places.map(() => error as Answer))
      places.forEach((place, i) => (answers[place] = given[i] as Answer))
    }),
  )
  return answers
}

describe('on a real cluster', () => {
  let deployment: Deployment
  let client: Cluster
  beforeAll(async () => {
    deployment = await deployCluster()
    client = connect(deployment.ports.map((port) => ({ port })))
  })
  afterAll(async () => {
    client.disconnect()
    await deployment.end()
  })

  function connect(servers: readonly { port: number }[], options: object = {}): Cluster {
    const nodes = servers.map(({ port }) => ({ host: '127.0.0.1', port }))
    return new Cluster(nodes, { retryDelayOnFailover: 0, enableOfflineQueue: false, ...options })
  }

  async function callsOf(command: string): Promise<number> {
    const stats = await Promise.all(deployment.operators.map((server) => server.info('commandstats')))
    const calls = stats.map((text) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(text)?.[1] ?? 0),
    )
    return calls.reduce((sum, count) => sum + count, 0)
  }

  test('slots are computed as Redis does', async () => {
    for (const key of ['', 'acme', 'p:{12}:x', '{}x', 'a{b', '{a}{b}', 'é漢😀', 'a}{c}']) {
      expect(slotOf(key)).toBe(await deployment.operators[0]?.call('CLUSTER', 'KEYSLOT', key))
    }
  })

  test('the requests of one tick are one EVALSHA a shard, whatever their number', async () => {
    const store = redisStore(client, { prefix: testPrefix(), shards: 4 })
    await store.ready?.()
    const batch = Array.from({ length: 128 }, (_, i) => request(`tenant-${i}`, 4))
    await consumeOf(store, batch)
    await Promise.all(deployment.operators.map((operator) => operator.config('RESETSTAT')))
    const answers = await consumeOf(store, batch)
    expect([await callsOf('evalsha'), await callsOf('eval')]).toEqual([4, 0])
    expect(answers).toEqual(
      batch.map(() => expect.objectContaining({ limits: [expect.objectContaining({ remaining: 98 })] })),
    )
  })

  test('a batch of several shards is answered in its order', async () => {
    const store = redisStore(client, { prefix: testPrefix() })
    await store.ready?.()
    const keys = Array.from({ length: 40 }, (_, i) => `tenant-${i % 20}`)
    const answers = await consumeOf(
      store,
      keys.map((key) => request(key)),
    )
    expect(answers.map((answer) => ('limits' in answer ? answer.limits[0]?.remaining : answer))).toEqual(
      keys.map((_, i) => (i < 20 ? 99 : 98)),
    )
  })

  test('keys are PREFIX:{TAG}:KEY; refund and reset find them', async () => {
    const prefix = testPrefix()
    const limiter = createLimiter({
      limit: '9/min',
      store: redisStore(client, { prefix }),
      deadlineMs: 5000,
      local: { instances: 1 },
    })
    const ids = Array.from({ length: 30 }, (_, i) => `t${i}`)
    const decisions = await Promise.all(ids.map((id) => limiter.consume(id)))
    const keys = (await Promise.all(deployment.operators.map((one) => one.keys(`${prefix}:*`)))).flat()
    expect(keys.length).toBe(30)
    const tags = new Set(shardTags(16))
    for (const key of keys) {
      const [, tag = '', own = ''] = /:\{(\d+)\}:(t\d+)$/.exec(key) ?? []
      expect([tags.has(tag), shardTags(16)[shardOf(own, 16)]]).toEqual([true, tag])
    }
    expect(await Promise.all(decisions.map((decision) => limiter.refund(decision)))).toEqual(
      ids.map(() => true),
    )
    expect((await limiter.peek('t1')).limits[0]?.remaining).toBe(9)
    await Promise.all(ids.map((id) => limiter.reset(id)))
    // What is left are the ids of the refunds, in the shards of their subjects, for as long as they are remembered.
    const rest = await Promise.all(
      deployment.operators.map(async (one) => {
        const found = await one.keys(`${prefix}:*`)
        return Promise.all(found.map(async (key) => ({ key, ttlMs: await one.pttl(key) })))
      }),
    )
    expect(rest.flat()).toHaveLength(30)
    for (const { key, ttlMs } of rest.flat()) {
      expect(key).toMatch(/:\{\d+\}:=[\w-]{1,64}$/)
      expect([ttlMs > 0, ttlMs <= ID_KEPT_MS]).toEqual([true, true])
    }
  })

  test('all that is counted of one subject is atomic: plan, group and what is stacked lie in one slot', async () => {
    const prefix = testPrefix()
    const store = redisStore(client, { prefix })
    const limiter = createLimiter({ limit: '9/min', store, deadlineMs: 5000, onStoreFailure: 'closed' })
    const exports = limiter.scope({ group: 'exports', limit: '8/min', stacked: { guard: '3/min' } })
    const decisions = await Promise.all(Array.from({ length: 12 }, () => exports.consume('acme')))
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(3)
    // Denied with all limits told, as one step does, and nothing taken of any.
    const denied = decisions.at(-1)
    expect([denied?.violated, denied?.limits.map(({ remaining }) => remaining)]).toEqual([
      ['guard.minute'],
      [5, 0],
    ])
    const keys = (await Promise.all(deployment.operators.map((one) => one.keys(`${prefix}:*acme*`)))).flat()
    expect(keys).toHaveLength(2)
    expect(new Set(keys.map(slotOf)).size).toBe(1)
  })

  test('organisation and user in two shards, sixteen in flight: as many as the user may, and no more counted', async () => {
    const store = redisStore(client, { prefix: testPrefix() })
    const plans = { org: '1000/h', user: '50/h burst 1' } as const
    const limiter = createLimiter({ plans, store, deadlineMs: 5000, onStoreFailure: 'closed' })
    const user = Array.from({ length: 99 }, (_, i) => `user${i}`).find(
      (id) => shardOf(id, 16) !== shardOf('org', 16),
    )
    const subjects = [
      { id: 'org', plan: 'org' },
      { id: user as string, plan: 'user' },
    ]
    const left = async (): Promise<unknown> =>
      (await limiter.peek({ id: 'org', plan: 'org' })).limits[0]?.remaining
    const decisions = await Promise.all(Array.from({ length: 16 }, () => limiter.consume(subjects)))
    const allowed = decisions.filter((decision) => decision.allowed)
    expect(allowed).toHaveLength(1)
    await eventually(async () => expect(await left()).toBe(999))
    expect(await limiter.refund(allowed[0] as Decision)).toBe(true)
    expect(await left()).toBe(1000)
  })

  test('where one server is gone, the others decide all that is theirs, at once', async () => {
    const mine = await deployCluster()
    const nodes = mine.ports.map((port) => ({ host: '127.0.0.1', port }))
    const set5 = {
      retryDelayOnFailover: 0,
      enableOfflineQueue: false,
      redisOptions: { disconnectTimeout: 100 },
    }
    const one = new Cluster(nodes, set5)
    const two = createCluster({
      rootNodes: mine.ports.map((port) => ({ url: `redis://127.0.0.1:${port}` })),
      defaults: { disableOfflineQueue: true },
    })
    const clients: RedisClient[] = [one, two]
    const stores = clients.map((given) => redisStore(given, { prefix: testPrefix() }))
    const batch = Array.from({ length: 64 }, (_, i) => request(`tenant-${i}`))
    for (const store of stores) {
      await store.ready?.()
      await consumeOf(store, batch)
    }
    // The cluster goes on with the slots that are left.
    await Promise.all(
      mine.operators.map((operator) => operator.config('SET', 'cluster-require-full-coverage', 'no')),
    )
    // It never answers that.
    mine.operators[2]?.call('SHUTDOWN', 'NOSAVE').catch(() => {})
    await eventually(
      () =>
        ask(mine.ports[2] as number, 'PING').then(
          () => false,
          () => true,
        ),
      'it is gone',
    )
    for (const store of stores) {
      const started = performance.now()
      const answers = await consumeOf(store, batch)
      // Nobody waits for what is gone.
      expect(performance.now() - started).toBeLessThan(5000)
      const failed = answers.filter((answer) => !('limits' in answer))
      expect([failed.length > 5, failed.length < 40]).toEqual([true, true])
      expect(new Set(failed.map((answer) => 'reason' in answer && answer.reason))).toEqual(
        new Set(['unreachable']),
      )
    }
    one.disconnect()
    two.destroy()
    await mine.end()
  })

  test('scripts go to primaries, also where reads go to replicas', async () => {
    const cluster = await startCluster()
    const scaled = connect(cluster.nodes, { scaleReads: 'slave' })
    const other = createCluster({
      rootNodes: cluster.nodes.map(({ url }) => ({ url })),
      useReplicas: true,
      defaults: { disableOfflineQueue: true },
    })
    const decisions: Decision[] = []
    for (const each of [scaled, other]) {
      const store = redisStore(each, { prefix: testPrefix() })
      const limiter = createLimiter({ limit: '9/min', store, deadlineMs: 5000 })
      for (let i = 0; i < 30; i += 1)
        decisions.push(await limiter.consume(`t${i}`), await limiter.peek(`t${i}`))
    }
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['store']))
    const replicas = cluster.nodes.slice(3)
    const asked = await Promise.all(replicas.map(({ port }) => ask(port, 'INFO', 'commandstats')))
    for (const stats of asked) expect(String(stats)).not.toContain('cmdstat_eval')
    scaled.disconnect()
    other.destroy()
    await cluster.stop()
  })
})
