// Requests in flight on every road, beside all other limits.
import { startCluster, testPrefix, type RedisCluster, cases } from '@tollgate/testing'
import { Cluster, type Redis } from 'ioredis'
import {
  createLimiter,
  memoryStore,
  redisStore,
  type Limiter,
  type LimiterOptions,
} from '../../../src/index.js'
import { benches, closeBenches, redisOfAnotherProcess, sharedRedis } from '../../support/benches.js'
import { asyncStore } from '../../support/stores.js'
import { describeLaws, forEachOf, playOn, seeds, type Played } from '../../roads/many.js'
import type { Clock, Road } from '../../roads/road.js'
import { scheduleOf } from '../../roads/schedule.js'
import { Tally, type Case } from '../../roads/tally.js'

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
  const nth = (n: number): Redis | Cluster => all()[n] as Redis
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
  limiter: (options, clock) => {
    const now = (): number => clock.now
    const store = asyncStore({ atomic: false, slots: true, testClock: now }, memoryStore({ now }))
    return createLimiter({ ...options, store, deadlineMs: 10_000, onStoreFailure: 'closed' })
  },
}
const processes = shared({ name: 'two processes', grouping: 'all' }, () => [sharedRedis(), another])
const sharded = shared({ name: 'cluster, two processes', grouping: 'subjects' }, () => clients)

async function play(road: Road, seed: number): Promise<Played> {
  const played = await playOn(road, seed, { inFlight: true })
  tally.add(road.name, played.case)
  full += played.case.full
  released += played.case.released
  return played
}

/** Law 5: the server and memory give equal answers, up to the first race with a refund. */
async function playOnBoth(seed: number): Promise<void> {
  const here = await play(memory, seed)
  // A request that ends is reported 5 ms of real time later. If the clock goes back, the report reaches a busy server at another
  // time of that clock than it reached memory, so one equal play of several is enough then.
  const { goesBack } = scheduleOf(seed, { inFlight: true })
  for (let left = goesBack ? 4 : 0; ; left -= 1) {
    const done = await playAsHere(seed, here)
    if (done.broken.has(5) && left > 0) continue
    return tally.add(server.name, done)
  }
}

async function playAsHere(seed: number, here: Played): Promise<Case> {
  const { case: done, told } = await playOn(server, seed, { inFlight: true })
  const length = Math.min(told.length, here.told.length)
  const isWhole = done.isBroken || here.case.isBroken || told.length === here.told.length
  done.check(5, isWhole, () => `${told.length} answers here, ${here.told.length} in memory`)
  for (let i = 0; i < length; i += 1) {
    done.check(5, told[i] === here.told[i], () => `${told[i]} here, ${here.told[i]} in memory`)
  }
  return done
}

beforeAll(async () => {
  another = redisOfAnotherProcess()
  cluster = await startCluster({ primaries: 3, replicas: 0 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  for (let i = 0; i < 2; i += 1)
    clients.push(new Cluster(nodes, { redisOptions: { disconnectTimeout: 100 } }))
  await forEachOf(seeds(cases(15, 50)), playOnBoth)
  for (const [road, count] of [
    [remembering, cases(8, 20)],
    [notAtomic, cases(12, 35)],
    [processes, cases(15, 50)],
    [sharded, cases(8, 25)],
  ] as const) {
    await forEachOf(seeds(count), async (seed) => void (await play(road, seed)))
  }
})

afterAll(async () => {
  tally.print()
  for (const client of clients) client.disconnect()
  await cluster?.stop()
  await closeBenches()
})

const LAWS = [1, 2, 3, 4, 7, 9, 10, 11]
for (const { name } of [memory, remembering, notAtomic, processes, sharded]) {
  describeLaws(tally, { road: name, laws: LAWS, schedules: cases(5, 15) })
}
describeLaws(tally, { road: server.name, laws: [...LAWS, 5], schedules: cases(10, 40) })

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip
unlessPart('requests in flight denied others, and gave their slots back', () => {
  expect(full).toBeGreaterThan(cases(25, 100))
  expect(released).toBeGreaterThan(cases(125, 500))
})
