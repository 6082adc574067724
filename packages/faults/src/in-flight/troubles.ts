// What happens to the processes and to Redis in the middle of a run.
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, startRedis, startSentinel, type RedisServer } from '@tollgate/testing/redis'
import type { Disturbance, Killed } from './judge.ts'
import type { InFlightWorker, Target } from './worker-process.ts'

/** The Redis of a run: one server, or a primary with its replica and sentinels. */
export interface Servers {
  readonly target: Target
  /** The port of what takes writes now. */
  port(): Promise<number>
  stop(): Promise<void>
}

export interface Scene {
  readonly servers: Servers
  readonly workers: readonly InFlightWorker[]
  /** How long processes stand still. */
  readonly stopMs: number
  readonly isShort: boolean
  /** In µs since the processes began. */
  now(): number
  /** Kills processes by their place among the workers, and starts others for them. */
  kill(places: readonly number[]): Promise<Killed>
}

export interface Happened {
  readonly disturbances: readonly Disturbance[]
  readonly killed: readonly Killed[]
}

export interface Trouble {
  start(): Promise<Servers & { readonly server?: RedisServer }>
  /** Begins when all slots are in use. */
  happen(scene: Scene, started: Awaited<ReturnType<Trouble['start']>>): Promise<Happened>
  /** Whether the failure policy decides meanwhile. */
  readonly isOutage: boolean
  /** Whether processes stand still, for as long as the scene says. */
  readonly isStopped?: boolean
}

const DOWN_MS = 1000
const HUNG_MS = 5000
/** Longer than a store keeps slots, by its own clock. */
const HUNG_LONG_MS = 20_000
/** The store keeps slots for 14 s after a message, and the last one may be 5.5 s old. */
const SURELY_KEPT_MS = 8000
/** So long apart that the slots of one kill are back before the next. */
const BETWEEN_KILLS_MS = 16_000

async function startOne(): Promise<Servers & { server: RedisServer }> {
  const server = await startRedis()
  return { server, target: { port: server.port }, port: async () => server.port, stop: () => server.kill() }
}

const plain = { start: startOne, isOutage: false }
const quietly = async (work: Promise<unknown>): Promise<Happened> => {
  await work
  return { disturbances: [], killed: [] }
}

/** Only what the processes and the store do afterwards is judged, so `to` is when it is over. */
const during = async (scene: Scene, more: number, work: () => Promise<unknown>): Promise<Happened> => {
  const from = scene.now()
  await work()
  return { disturbances: [{ from, to: scene.now(), more, share: 0 }], killed: [] }
}

const hang = (ms: number): Trouble => ({
  ...{ start: startOne, isOutage: true },
  happen: (scene, { server }) =>
    during(scene, ms > SURELY_KEPT_MS ? 1 : 0, async () => {
      server?.pause()
      await sleep(ms)
      server?.resume()
    }),
})

export const TROUBLES: Readonly<Record<string, Trouble>> = {
  none: { ...plain, happen: () => quietly(Promise.resolve()) },
  'processes are killed': {
    ...plain,
    happen: async (scene) => {
      const killed = [await scene.kill([0])]
      if (scene.isShort) return { disturbances: [], killed }
      await sleep(BETWEEN_KILLS_MS)
      return { disturbances: [], killed: [...killed, await scene.kill([1, 2])] }
    },
  },
  'processes stand still': {
    ...plain,
    isStopped: true,
    happen: (scene) =>
      during(scene, scene.stopMs > SURELY_KEPT_MS ? 1 : 0, async () => {
        const pids = scene.workers.slice(2).map(({ pid }) => pid)
        for (const pid of pids) process.kill(pid, 'SIGSTOP')
        await sleep(scene.stopMs)
        for (const pid of pids) process.kill(pid, 'SIGCONT')
      }),
  },
  'Redis is killed': {
    isOutage: true,
    async start() {
      let server = await startRedis()
      const { port } = server
      const again = {
        ...server,
        kill: async () => {
          await server.kill()
          await sleep(DOWN_MS)
          server = await startRedis({ port })
        },
      }
      return { server: again, target: { port }, port: async () => port, stop: () => server.kill() }
    },
    happen: (scene, { server }) => during(scene, 1, async () => server?.kill()),
  },
  'Redis hangs': hang(HUNG_MS),
  'Redis hangs for long': hang(HUNG_LONG_MS),
  'Redis is emptied': {
    ...plain,
    happen: (scene) => during(scene, 1, async () => ask(await scene.servers.port(), 'FLUSHALL')),
  },
  'Redis fails over': {
    isOutage: true,
    async start() {
      const group = await startSentinel()
      const { sentinels, name } = group
      return {
        target: { sentinels: [...sentinels], name },
        port: async () => (await group.primary()).port,
        stop: () => group.stop(),
        server: {
          ...(await group.primary()),
          kill: async () => group.whenFailedOver(await group.killPrimary()),
        },
      }
    },
    happen: (scene, { server }) => during(scene, 1, async () => server?.kill()),
  },
}
