import { setTimeout as sleep } from 'node:timers/promises'
import { ask, startProxy, startRedis, type Proxy } from '@tollgate/testing/redis'
import { now } from '../load.ts'
import type { Random } from '@tollgate/testing/random'

/** One Redis, and a proxy to it for each process. */
export interface Place {
  /** The port of the server itself. */
  readonly port: number
  readonly proxies: readonly Proxy[]
  kill(): Promise<unknown>
  restart(): Promise<unknown>
  pause(): void
  resume(): void
  close(): Promise<void>
}

export async function openPlace(processes: number): Promise<Place> {
  let server = await startRedis()
  const { port } = server
  const proxies = await Promise.all(Array.from({ length: processes }, () => startProxy({ port })))
  return {
    port,
    proxies,
    kill: () => server.kill(),
    restart: async () => (server = await startRedis({ port })),
    pause: () => server.pause(),
    resume: () => server.resume(),
    close: async () => {
      await Promise.all(proxies.map((proxy) => proxy.close()))
      await server.kill()
    },
  }
}

interface Context {
  readonly place: Place
  /** The proxies that the fault disturbs. */
  readonly proxies: readonly Proxy[]
  readonly random: Random
  /** How long the fault lasts. */
  readonly ms: number
  /** Called when the store has lost its counts, with the time span of the loss. */
  readonly onLoss: (from: number, to: number) => void
}

const DISTURBANCES: Readonly<Record<string, (context: Context) => Promise<unknown>>> = {
  'killed and restarted': async ({ place, ms, onLoss }) => {
    const from = now()
    await place.kill()
    await sleep(ms)
    await place.restart()
    onLoss(from, now())
  },
  hangs: async ({ place, ms }) => {
    place.pause()
    await sleep(ms)
    place.resume()
  },
  'scripts forgotten': ({ place }) => ask(place.port, 'SCRIPT', 'FLUSH'),
  late: async ({ proxies, random, ms }) => {
    const latencyMs = random.between(20, 400)
    for (const proxy of proxies) proxy.latency(latencyMs)
    await sleep(ms)
    await restore(proxies)
  },
  'connections reset': async ({ proxies }) => {
    for (const proxy of proxies) proxy.cut()
  },
  'connections reset in mid-answer': async ({ proxies, random, ms }) => {
    for (const end = now() + ms; now() < end; await sleep(random.between(50, 300))) {
      for (const proxy of proxies) proxy.cutAfterBytes(Math.floor(random.between(0, 200)))
      await sleep(20)
      await restore(proxies)
    }
  },
  'network silent': async ({ proxies, ms }) => {
    for (const proxy of proxies) proxy.blackhole()
    await sleep(ms)
    await restore(proxies)
  },
  'connections refused': async ({ proxies, ms }) => {
    await Promise.all(proxies.map((proxy) => proxy.refuse()))
    await sleep(ms)
    await restore(proxies)
  },
}

/** Faults of the server itself, which affect all processes. */
const OF_THE_SERVER = ['killed and restarted', 'hangs', 'scripts forgotten']

export interface DisturbOptions {
  readonly place: Place
  readonly random: Random
  /** In ms of the clock that all processes share. */
  readonly until: number
  readonly onLoss: Context['onLoss']
  readonly say: (text: string) => void
}

/** Causes one fault after another, with pauses between. Resolves to the number of each. */
export async function disturb({ random, until, say, ...rest }: DisturbOptions): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  const started = now()
  for (;;) {
    const gapMs = random.between(500, 4000)
    const ms = Math.round(random.between(100, 2500))
    const name = random.pick(Object.keys(DISTURBANCES))
    const proxies = random.pick([...rest.place.proxies.map((proxy) => [proxy]), [...rest.place.proxies]])
    if (now() + gapMs + ms > until) break
    await sleep(gapMs)
    const ways = proxies.length === 1 ? `process ${rest.place.proxies.indexOf(proxies[0] as Proxy)}` : 'all'
    const whom = OF_THE_SERVER.includes(name) ? 'all' : ways
    say(`${((now() - started) / 1000).toFixed(1)} s: ${name} (${ms} ms, ${whom})`)
    await DISTURBANCES[name]?.({ ...rest, random, ms, proxies })
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  await sleep(Math.max(0, until - now()))
  return counts
}

async function restore(proxies: readonly Proxy[]): Promise<void> {
  await Promise.all(proxies.map((proxy) => proxy.restore()))
}
