// Law 8 in real time: the windows last some ms, and after them no key may be left.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { redisStore, type Decision, type Limiter } from '../../src/index.js'
import { closesWithTest } from '../support/faults.js'
import { withLeases } from './lease-schedule.js'
import { capacityOf, type LimitSpec } from './limits.js'
import { forEachOf } from './many.js'
import { inputsOf, plansInput, subjectsOf } from './places.js'
import { Process } from './processes.js'
import { limiterOn } from './road.js'
import { scheduleOf, type Ask, type Plans, type Schedule } from './schedule.js'
import { Case } from './tally.js'

const WINDOWS_MS = [10, 25, 40]
/** The shortest window that can be leased in the mode `exact`, and one of a bucket. */
const [LEASED_MS, LEASED_BUCKET_MS] = [640, 100]
/** So many that a subject is busy, though other schedules are played at the same time. */
const REQUESTS_AT_ONCE = 24
/** Far longer than any key lives here: a sliding window counts for two windows, a bucket until its burst is back. */
const GONE_WITHIN_MS = 30_000

/** Keys `PREFIX/=ID` and `PREFIX/=+PAGE`: they remember the ids of charges and refunds, and are allowed to stay. */
const REMEMBERED = /\/(?:=\+?[\w-]+$|!)/

/** The log of denials, which law 8 lets stay. */
const BOARD = /\/!board\./

/** What is played by live clients. Returns what ends it once no key is left. */
type Live = (clients: readonly Redis[], done: Case, prefix: string) => Promise<(() => Promise<void>) | void>

/** Plays all schedules, waits until their keys should be gone, and calls `onDone` with the result of each. */
export async function leavesNothing(
  clients: readonly Redis[],
  seeds: readonly number[],
  { play, atOnce, onDone }: { play: Live; atOnce?: number; onDone: (done: Case) => void },
): Promise<void> {
  const prefix = testPrefix()
  const redis = clients[0] as Redis
  const played: { done: Case; end: Awaited<ReturnType<Live>> }[] = []
  await forEachOf(
    seeds,
    async (seed) => {
      const done = new Case(seed)
      played.push({ done, end: await play(clients, done, `${prefix}:${seed}`) })
    },
    atOnce,
  )
  const left = async (): Promise<string[]> => {
    const keys = await redis.keys(`${prefix}:*`)
    return keys.filter((key) => !REMEMBERED.test(key))
  }
  const met = (await left()).length
  const floods = (await redis.keys(`${prefix}-flood:*`)).filter((key) => !BOARD.test(key))
  const flooded = new Set(floods.map((key) => seedIn(key)))
  for (const until = performance.now() + GONE_WITHIN_MS; performance.now() < until; await sleep(50)) {
    if ((await left()).length === 0) break
  }
  const kept = await left()
  for (const { done, end } of played) {
    const mine = kept.filter((key) => seedIn(key) === done.seed)
    done.check(8, mine.length === 0, () => `a key is left of what no longer counts: ${mine.join()}`)
    done.check(8, !flooded.has(done.seed), () => 'a denied request left a key')
    // The windows of leases are long enough that a slow machine meets some key.
    done.check(8, end === undefined || met > 0, () => 'no key was met')
    await end?.()
    onDone(done)
  }
}

function seedIn(key: string): number {
  return Number(/^test:[0-9a-f]+(?:-flood)?:(\d+)/.exec(key)?.[1])
}

/** Requests, refunds and settlements; then a flood of what is denied. */
export const playPlain: Live = async ([redis], done, prefix) => {
  const kinds = ['log', 'coarse', 'window', 'fixed', 'bucket'] as const
  const schedule = scheduleOf(done.seed, { kinds, windowsMs: WINDOWS_MS, gaps: false, steps: 5 })
  const plans = plansInput(schedule.versions[0] as Plans)
  const limiter = liveOn(redis as Redis, prefix, plans)
  const scope = limiter.scope({ group: 'g', stacked: { s: inputsOf(schedule.stacked) } })
  const made: Decision[] = []
  for (const { act } of schedule.steps) {
    if (act.what === 'burst') {
      const decide = ({ place, who, cost }: Ask): Promise<Decision> =>
        Promise.resolve(
          (place === 'app' ? limiter : scope).consume(subjectsOf(who, schedule.versions[0] as Plans), {
            cost,
          }),
        )
      const decisions = await Promise.all(act.asks.map(decide))
      done.decisions += decisions.length
      done.denials += decisions.filter(({ allowed }) => !allowed).length
      made.push(...decisions)
    } else if (act.what === 'refund') {
      const given = await Promise.all(made.slice(-2).map((decision) => limiter.refund(decision)))
      // On a slow machine most come after the window. They must leave no key either.
      done.refunds += given.length
    } else if (act.what === 'settle')
      await limiter.settle(made.at(-1) ?? (await limiter.peek('nobody')), act.cost)
  }
  await flood(redis as Redis, schedule, prefix.replace(/:(\d+)$/, '-flood:$1'), done)
}

/** Sends requests that can never fit. Their windows are long, so that a key left by a denial would be found. */
async function flood(redis: Redis, schedule: Schedule, prefix: string, done: Case): Promise<void> {
  const specs = schedule.own.map((spec) => ({ ...spec, windowMs: spec.windowMs * 100_000 }))
  const limiter = liveOn(redis, prefix, { free: inputsOf(specs) })
  const cost = Math.max(...specs.map(capacityOf)) + 1
  const asked = schedule.subjects.map(({ id }) => limiter.consume(id, { cost }))
  const decisions = await Promise.all(asked)
  done.check(
    8,
    decisions.every(({ allowed }) => !allowed),
    () => 'more than a limit ever has was allowed',
  )
  done.denials += decisions.length
}

function liveOn(redis: Redis, prefix: string, plans: ReturnType<typeof plansInput>): Limiter {
  return closesWithTest(limiterOn({}, redisStore(redis, { prefix }), plans))
}

/** Processes that lease, of which a third end as they should, a third die, and the others fall idle. */
export const playLeasing: Live = async (clients, done, prefix) => {
  const kinds = ['log', 'coarse', 'window', 'fixed', 'bucket'] as const
  const schedule = leasedShortly(
    withLeases(scheduleOf(done.seed, { kinds, windowsMs: [LEASED_MS], leases: true })),
  )
  const plans = schedule.versions[0] as Plans
  const processes = clients.map((client) => {
    return new Process({ road: {}, schedule, plans, store: redisStore(client, { prefix }) })
  })
  const asks = schedule.steps.flatMap(({ act }) => (act.what === 'burst' ? act.asks : []))
  for (let i = 0; asks.length > 0; i += 1) {
    const { places } = processes[i % processes.length] as Process
    const some = asks.splice(0, REQUESTS_AT_ONCE)
    const asked = some.map(({ place, who }) => places[place].consume(subjectsOf(who, plans)))
    const decisions = await Promise.all(asked)
    done.decisions += decisions.length
    done.denials += decisions.filter(({ allowed }) => !allowed).length
    await turn()
  }
  const [first] = processes as [Process]
  if (done.seed % 3 === 0) await first.limiter.close()
  if (done.seed % 3 === 1) first.crash()
  return async () => {
    for (const { limiter } of processes) {
      done.leases.served += limiter.stats().leases.granted
      await limiter.close()
    }
  }
}

function leasedShortly(schedule: Schedule): Schedule {
  const short = (specs: readonly LimitSpec[]): LimitSpec[] =>
    specs.map((spec) => (spec.kind === 'bucket' ? { ...spec, windowMs: LEASED_BUCKET_MS } : spec))
  const { versions, own, stacked, leases } = schedule
  return {
    ...schedule,
    versions: versions.map((plans) => {
      return Object.fromEntries(Object.entries(plans).map(([name, specs]) => [name, short(specs)]))
    }),
    own: short(own),
    stacked: short(stacked),
    leases: Object.fromEntries(Object.keys(leases ?? {}).map((name) => [name, { maxMs: 50, maxShare: 0.5 }])),
  }
}
