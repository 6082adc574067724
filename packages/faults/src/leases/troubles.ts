// What happens to the processes and to Redis in the middle of a run.
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, startRedis, type RedisServer } from '@tollgate/testing/redis'
import type { Break } from './judge.ts'
import { scaled, type LeasedPlan } from './plans.ts'
import type { LeaseWorker } from './worker-process.ts'

export interface Scene {
  server: RedisServer
  readonly workers: readonly LeaseWorker[]
  readonly plan: LeasedPlan
  /** In µs since the processes began. */
  now(): number
}

/** Begins in the middle of a run. Resolves to what may be let in more because of it. */
type Trouble = (scene: Scene) => Promise<readonly Break[]>

/** The longest that a lease lasts, and an order takes to reach a process, in µs. */
const LEASE_US = 600_000
const STOPPED_MS = 2000
const HUNG_MS = 1000
/** The numbers of processes: the busiest, and one beside it. */
const BUSIEST = 3
const SECOND = 2

const lossIn = async (scene: Scene, work: () => Promise<unknown>): Promise<Break[]> => {
  const from = scene.now()
  await work()
  // Units on lease at the loss are used after it.
  return [{ from, to: scene.now() + LEASE_US, more: 1 }]
}

export const TROUBLES: Readonly<Record<string, Trouble>> = {
  none: async () => [],
  'a process is killed': async ({ workers }) => {
    workers[BUSIEST]?.order({ do: 'die' })
    return []
  },
  'a process stands still': async ({ workers }) => {
    for (const i of [SECOND, BUSIEST]) process.kill(pidOf(workers, i), 'SIGSTOP')
    await sleep(STOPPED_MS)
    for (const i of [SECOND, BUSIEST]) process.kill(pidOf(workers, i), 'SIGCONT')
    return []
  },
  'Redis is killed': (scene) =>
    lossIn(scene, async () => {
      const { port } = scene.server
      await scene.server.kill()
      scene.server = await startRedis({ port })
    }),
  'Redis hangs': async ({ server }) => {
    server.pause()
    await sleep(HUNG_MS)
    server.resume()
    return []
  },
  'Redis is emptied': (scene) => lossIn(scene, () => ask(scene.server.port, 'FLUSHALL')),
  'the tenant is reset': (scene) =>
    lossIn(scene, async () => {
      scene.workers[0]?.order({ do: 'reset' })
      await sleep(100)
    }),
  'a smaller plan': async ({ workers, plan, now }) => {
    const after = scaled(plan, 0.5)
    const from = now()
    for (const worker of workers) worker.order({ do: 'plan', plan: after.plan })
    // Neither plan holds alone while processes still serve leases of the first.
    return [{ from, to: from + LEASE_US, more: 0, after: after.bounds }]
  },
}

/** The numbers of the processes that ask for nothing during a trouble. */
export const SILENT: Readonly<Record<string, readonly number[]>> = {
  'a process is killed': [BUSIEST],
  'a process stands still': [SECOND, BUSIEST],
}

function pidOf(workers: readonly LeaseWorker[], i: number): number {
  const worker = workers[i]
  if (!worker) throw new Error(`there is no process ${i}`)
  return worker.pid
}
