// Law 8 in real time when processes lease: once leases and windows are over no key may be left, however a process ended.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { testPrefix } from '@tollgate/testing'
import type { Redis } from 'ioredis'
import { redisStore } from '../../src/index.js'
import { LeasingProcess } from './lease-processes.js'
import { leaseScheduleOf, type LeaseSchedule } from './lease-schedule.js'
import type { LimitSpec } from './limits.js'
import { forEachOf } from './many.js'
import type { Plans } from './schedule.js'
import { Case } from './tally.js'

/** The shortest window that can be leased in the mode `exact`, and one of a bucket. */
const [WINDOW_MS, BUCKET_MS] = [640, 100]
/** So many that a subject is busy, though other schedules are played at the same time. */
const REQUESTS_AT_ONCE = 24
const SCHEDULES_AT_ONCE = 4
/** Far longer than any key lives here. */
const GONE_WITHIN_MS = 30_000

/** Plays all schedules, waits until their keys should be gone, and calls `onDone` with the result of each. */
export async function leaseLeavesNothing(
  clients: readonly Redis[],
  seeds: readonly number[],
  onDone: (done: Case, leases: number) => void,
): Promise<void> {
  const prefix = testPrefix()
  const played: { done: Case; processes: LeasingProcess[] }[] = []
  await forEachOf(
    seeds,
    async (seed) => {
      played.push(await playLive(clients, seed, `${prefix}:${seed}`))
    },
    SCHEDULES_AT_ONCE,
  )
  const left = async (): Promise<string[]> => (clients[0] as Redis).keys(`${prefix}:*`)
  const met = (await left()).length
  const until = performance.now() + GONE_WITHIN_MS
  while ((await left()).length > 0 && performance.now() < until) await sleep(50)
  const kept = await left()
  for (const { done, processes } of played) {
    const mine = kept.filter((key) => key.startsWith(`${prefix}:${done.seed}:`))
    done.check(
      8,
      met > 0 && mine.length === 0,
      () => `a key is left of what no longer counts: ${mine.join()}`,
    )
    const leases = processes.reduce((sum, { limiter }) => sum + limiter.stats().leases.granted, 0)
    await Promise.all(processes.map(({ limiter }) => limiter.close()))
    onDone(done, leases)
  }
}

async function playLive(
  clients: readonly Redis[],
  seed: number,
  prefix: string,
): Promise<{ done: Case; processes: LeasingProcess[] }> {
  const schedule = shortened(leaseScheduleOf(seed))
  const done = new Case(seed)
  const processes = clients.map((client) => {
    const store = redisStore(client, { prefix })
    return new LeasingProcess(store, schedule, schedule.versions[0] as Plans, undefined, () => {})
  })
  const asks = schedule.steps.flatMap(({ act }) =>
    act.what === 'burst' ? act.ticks.flatMap((tick) => tick.asks) : [],
  )
  for (let i = 0; asks.length > 0; i += 1) {
    const process = processes[i % processes.length] as LeasingProcess
    const some = asks.splice(0, REQUESTS_AT_ONCE)
    const decisions = await Promise.all(some.map((ask) => process.consume({ ...ask, cost: 1 })))
    done.decisions += decisions.length
    done.denials += decisions.filter(({ allowed }) => !allowed).length
    await turn()
  }
  // A third of the processes end as they should, a third die, and the others fall idle.
  if (seed % 3 === 0) await processes[0]?.limiter.close()
  if (seed % 3 === 1) processes[0]?.crash()
  return { done, processes }
}

/** The same schedule with windows that are over soon. */
function shortened(schedule: LeaseSchedule): LeaseSchedule {
  const short = (specs: readonly LimitSpec[]): LimitSpec[] => {
    const found = new Map<string, LimitSpec>()
    for (const { kind, ...spec } of specs) {
      const kept = kind === 'hour' || kind === 'month' ? 'fixed' : kind
      found.set(kept, { ...spec, kind: kept, windowMs: kept === 'bucket' ? BUCKET_MS : WINDOW_MS })
    }
    return [...found.values()]
  }
  const plans = (of: Plans): Plans =>
    Object.fromEntries(Object.entries(of).map(([name, specs]) => [name, short(specs)]))
  const leases = Object.fromEntries(
    Object.keys(schedule.leases).map((name) => [name, { maxMs: 50, maxShare: 0.5 }]),
  )
  const { versions, own, stacked } = schedule
  return { ...schedule, versions: versions.map(plans), own: short(own), stacked: short(stacked), leases }
}
