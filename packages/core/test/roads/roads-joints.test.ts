// What meets on one subject, all at once, in memory and on one server.
import { setImmediate as turn } from 'node:timers/promises'
import { Random, type RedisServer, cases, startRedis, testPrefix } from '@tollgate/testing'
import { Redis } from 'ioredis'
import { memoryStore, redisStore, type Store } from '../../src/index.js'
import { KEPT_UNDER_TEST_CLOCK_MS, SLOTS_KEPT_MS } from '../../src/store.js'
import { asyncStore } from '../support/stores.js'
import { JointPlay, type JointMet } from './joint-play.js'
import type { JointPlace } from './joint-processes.js'
import { jointScheduleOf, PROCESSES } from './joint-schedule.js'
import { describeLaws, forEachOf, seeds } from './many.js'
import { Case, Tally } from './tally.js'
import { NoAnswer } from './within.js'

const tally = new Tally()
const SCHEDULES = cases(25, 200)
const LAWS = [1, 2, 3, 7, 8, 9, 11]
const MEMORY = 'joints in memory'
const SERVER = 'joints on one server'

/** One store in memory. Calls and answers take some turns of the event loop, so that answers overtake each other. */
function inMemory(seed: number): JointPlace {
  const random = new Random(seed)
  let inner: Store | undefined
  return {
    store(_, clock) {
      inner ??= memoryStore({ now: () => clock.now })
      const store = inner
      const trip = async <T>(call: () => T | PromiseLike<T>): Promise<T> => {
        for (let left = random.pick([0, 0, 0, 1, 6]); left > 0; left -= 1) await turn()
        const answer = await call()
        for (let left = random.pick([0, 0, 0, 2, 6]); left > 0; left -= 1) await turn()
        return answer
      }
      return asyncStore(
        {
          consume: async (batch) => trip(() => store.consume(batch)),
          refund: async (batch) => trip(() => store.refund(batch)),
        },
        store,
      )
    },
  }
}

let server: RedisServer
const clients: Redis[] = []
let admin: Redis

/** Ids of charges and refunds, by which messages count once, may stay. */
const REMEMBERED = /\/(?:=\+?[\w-]+$|!)/

/** One server, and a connection for each process. */
function onServer(): JointPlace {
  const prefix = testPrefix()
  return {
    store(process, clock) {
      return redisStore(clients[process] as Redis, { prefix, now: () => clock.now })
    },
    flush: async () => admin.script('FLUSH'),
    async leftBehind(longestMs) {
      const keys = (await admin.keys(`${prefix}*`)).filter((key) => !REMEMBERED.test(key))
      const lives = await Promise.all(keys.map(async (key) => admin.pttl(key)))
      // Under a test's clock all is kept for an hour more.
      const most = KEPT_UNDER_TEST_CLOCK_MS + SLOTS_KEPT_MS + longestMs
      return keys.flatMap((key, i) => ((lives[i] ?? 0) > most ? [`${key} for ${lives[i]} ms`] : []))
    },
  }
}

const met = new Map<string, JointMet>()

async function play(road: string, place: JointPlace, seed: number): Promise<void> {
  const done = new Case(seed)
  const one = new JointPlay(place, jointScheduleOf(seed), done)
  try {
    await one.run()
  } catch (error) {
    // An exception is no answer either.
    done.check(9, false, () => (error instanceof NoAnswer ? error.message : String((error as Error).stack)))
  }
  await one.close()
  tally.add(road, done)
  const all = met.get(road)
  met.set(
    road,
    Object.fromEntries(
      Object.entries(one.met).map(([name, count]) => [name, count + (all?.[name as keyof JointMet] ?? 0)]),
    ) as unknown as JointMet,
  )
}

beforeAll(async () => {
  server = await startRedis()
  const settings = { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 }
  const connect = (): Redis => new Redis(server.port, '127.0.0.1', settings)
  for (let i = 0; i < PROCESSES; i += 1) clients.push(connect())
  admin = connect()
  await forEachOf(seeds(SCHEDULES), async (seed) => play(MEMORY, inMemory(seed), seed))
  // Scripts are flushed and sent again all the time: more at once would only wait longer for the server.
  await forEachOf(seeds(SCHEDULES), async (seed) => play(SERVER, onServer(), seed), 12)
})

afterAll(async () => {
  tally.print()
  for (const client of [...clients, admin]) client.disconnect()
  await server?.kill()
})

for (const road of [MEMORY, SERVER]) {
  describeLaws(tally, { road, laws: LAWS, schedules: Math.floor(SCHEDULES / 2) })
}

const isPart = process.env['TOLLGATE_ROADS_SEED'] ?? process.env['TOLLGATE_ROADS_COUNT']
const unlessPart = isPart === undefined ? test : test.skip
unlessPart.each([MEMORY, SERVER])('all that is to meet was met: %s', (road) => {
  const all = met.get(road) as JointMet
  // Whether a request has to wait depends on the time that the machine takes, too.
  const few = Object.entries(all).filter(([, count]) => count < cases(1, SCHEDULES / 10))
  expect([few, all]).toEqual([[], all])
})
