// Requests in flight on every road, beside all other limits.
import { startCluster, testPrefix, type RedisCluster } from '@tollgate/testing'
import { Cluster, type Redis } from 'ioredis'
import { createLimiter, redisStore, type Limiter, type LimiterOptions } from '../../src/index.js'
import {
  benches,
  closeBenches,
  jointBenches,
  redisOfAnotherProcess,
  sharedRedis,
} from '../support/benches.js'
import { describeLaws, forEachOf, playOn, seeds } from './many.js'
import type { Clock, Road } from './play.js'
import { Tally } from './tally.js'

const tally = new Tally()
let cluster: RedisCluster
const clients: Cluster[] = []
let another: Redis
let full = 0
let released = 0

type Options = Omit<LimiterOptions, 'store'>

function limiterOn(client: Redis | Cluster, prefix: string, options: Options, clock: Clock): Limiter {
  const store = redisStore(client, { prefix, now: () => clock.now })
  const local = { instances: 1 }
  return createLimiter({ ...options, store, deadlineMs: 10_000, onStoreFailure: 'closed', local })
}

/** Two processes, each with a connection of its own. */
function shared(road: Pick<Road, 'name' | 'grouping'>, all: () => readonly (Redis | Cluster)[]): Road {
  let prefix = ''
  const nth = (n: number) => all()[n] as Redis
  return {
    ...road,
    limiter: (options, clock) => {
      prefix = testPrefix()
      return limiterOn(nth(0), prefix, options, clock)
    },
    another: (options, clock) => limiterOn(nth(1), prefix, options, clock),
  }
}

const memory: Road = {
  name: 'memory',
  grouping: 'all',
  limiter: (options, clock) => (benches[0] as (typeof benches)[number]).limiter(options, clock),
}
const server: Road = {
  name: 'one server',
  grouping: 'all',
  limiter: (options, clock) => limiterOn(sharedRedis(), testPrefix(), options, clock),
}
const remembering: Road = {
  name: 'one server, denials remembered',
  grouping: 'all',
  limiter: (options, clock) =>
    limiterOn(sharedRedis(), testPrefix(), { ...options, denials: { recheckMs: 500 } }, clock),
}
const notAtomic: Road = {
  name: 'not atomic',
  grouping: 'keys',
  limiter: (options, clock) => (jointBenches.at(-1) as (typeof jointBenches)[number]).limiter(options, clock),
}
const processes = shared({ name: 'two processes', grouping: 'all' }, () => [sharedRedis(), another])
const sharded = shared({ name: 'cluster, two processes', grouping: 'subjects' }, () => clients)

async function play(road: Road, seed: number): Promise<readonly string[]> {
  const { case: done, told } = await playOn(road, seed, { inFlight: true })
  tally.add(road.name, done)
  full += done.full
  released += done.released
  return done.isBroken ? [] : told
}

beforeAll(async () => {
  another = redisOfAnotherProcess()
  cluster = await startCluster({ primaries: 3, replicas: 0 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  for (let i = 0; i < 2; i += 1)
    clients.push(new Cluster(nodes, { redisOptions: { disconnectTimeout: 100 } }))
  await forEachOf(seeds(250), async (seed) => {
    const [here, there] = [await play(memory, seed), await play(server, seed)]
    void here
    void there
  })
  await forEachOf(seeds(100), async (seed) => void (await play(remembering, seed)))
  await forEachOf(seeds(150), async (seed) => void (await play(notAtomic, seed)))
  await forEachOf(seeds(250), async (seed) => void (await play(processes, seed)))
  await forEachOf(seeds(100), async (seed) => void (await play(sharded, seed)))
}, 120_000)

afterAll(async () => {
  tally.print()
  for (const client of clients) client.disconnect()
  await cluster?.stop()
  await closeBenches()
})

const LAWS = [1, 2, 3, 4, 7, 9, 10, 11]
for (const { name } of [memory, server, remembering, notAtomic, processes, sharded]) {
  describeLaws(tally, { road: name, laws: LAWS, schedules: 50 })
}
