// The ways in which a Redis fails, each with a beginning and an end.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  ask,
  freePort,
  startCluster,
  startProxy,
  startRedis,
  startSentinel,
  type Proxy,
  type RedisServer,
} from '@tollgate/testing/redis'

/** Where the application's client connects. */
export type Target =
  | { readonly port: number }
  | { readonly nodes: readonly Address[] }
  | { readonly sentinels: readonly Address[]; readonly name: string }

interface Address {
  readonly host: string
  readonly port: number
}

/** A Redis that works until `begin`. */
export interface Scene {
  readonly target: Target
  begin(): Promise<unknown>
  /** Resolves when the store is back. */
  end(): Promise<unknown>
  close(): Promise<unknown>
}

export interface Fault {
  readonly name: string
  /** Redis loses counts, all or some. */
  readonly forgets?: boolean
  /** The application starts during the fault. */
  readonly fromStart?: boolean
  /** The fault has no end. */
  readonly isForGood?: boolean
  /** Some calls succeed during it: the breaker need not open, and the store and the policy both answer. */
  readonly isPartial?: boolean
  prepare(): Promise<Scene>
}

export const FAULTS: readonly Fault[] = [
  {
    name: 'absent at the start',
    fromStart: true,
    prepare: async () => {
      const port = await freePort()
      let server: RedisServer | undefined
      return {
        target: { port },
        begin: async () => {},
        end: async () => (server = await startRedis({ port })),
        close: async () => server?.kill(),
      }
    },
  },
  { name: 'killed and restarted', forgets: true, prepare: () => restarted((server) => server.kill()) },
  { name: 'hangs', prepare: () => onServer(hang, async (server) => server.resume()) },
  { name: 'hangs for good', isForGood: true, prepare: () => onServer(hang, async () => {}) },
  {
    name: 'hangs, is killed and restarted',
    forgets: true,
    prepare: () => restarted(hang),
  },
  {
    name: 'out of memory',
    prepare: () =>
      onServer(
        ({ port }) => ask(port, 'CONFIG', 'SET', 'maxmemory-policy', 'noeviction', 'maxmemory', 1),
        ({ port }) => ask(port, 'CONFIG', 'SET', 'maxmemory', 0),
      ),
  },
  {
    name: 'read-only replica',
    prepare: async () => {
      const nobody = await freePort()
      return onServer(
        ({ port }) => ask(port, 'REPLICAOF', '127.0.0.1', nobody),
        ({ port }) => ask(port, 'REPLICAOF', 'NO', 'ONE'),
      )
    },
  },
  {
    name: 'scripts forgotten',
    isPartial: true,
    prepare: () => repeated(({ server }) => ask(server.port, 'SCRIPT', 'FLUSH'), 200),
  },
  {
    name: '500 ms late',
    prepare: () =>
      onProxy(
        ({ proxy }) => proxy.latency(500),
        ({ proxy }) => proxy.restore(),
      ),
  },
  {
    name: 'connections reset in mid-answer',
    isPartial: true,
    prepare: () => repeated(resetInMidAnswer, 150),
  },
  {
    name: 'network silent',
    prepare: () =>
      onProxy(
        ({ proxy }) => proxy.blackhole(),
        ({ proxy }) => proxy.restore(),
      ),
  },
  { name: 'cluster primary killed', forgets: true, isPartial: true, prepare: clusterFailover },
  { name: 'sentinel primary killed', forgets: true, prepare: sentinelFailover },
]

type Step<T> = (on: T) => unknown

async function hang(server: RedisServer): Promise<void> {
  server.pause()
}

async function onServer(begin: Step<RedisServer>, end: Step<RedisServer>): Promise<Scene> {
  const server = await startRedis()
  return {
    target: { port: server.port },
    begin: async () => begin(server),
    end: async () => end(server),
    close: () => server.kill(),
  }
}

async function restarted(begin: Step<RedisServer>): Promise<Scene> {
  let server = await startRedis()
  const { port } = server
  return {
    target: { port },
    begin: async () => begin(server),
    end: async () => {
      await server.kill()
      server = await startRedis({ port })
    },
    close: () => server.kill(),
  }
}

interface Proxied {
  readonly server: RedisServer
  readonly proxy: Proxy
}

async function onProxy(begin: Step<Proxied>, end: Step<Proxied>): Promise<Scene> {
  const server = await startRedis()
  const proxy = await startProxy(server)
  const proxied = { server, proxy }
  return {
    target: { port: proxy.port },
    begin: async () => begin(proxied),
    end: async () => end(proxied),
    close: async () => {
      await proxy.close()
      await server.kill()
    },
  }
}

/** Repeats a short fault. */
async function repeated(does: Step<Proxied>, everyMs: number): Promise<Scene> {
  let isOver = false
  let done = Promise.resolve()
  return onProxy(
    (proxied) => {
      done = (async () => {
        for (; !isOver; await sleep(everyMs)) await does(proxied)
      })()
    },
    () => {
      isOver = true
      return done
    },
  )
}

/** Cuts open connections in the middle of an answer. New connections work. */
async function resetInMidAnswer({ proxy }: Proxied): Promise<void> {
  proxy.cutAfterBytes(10)
  await sleep(20)
  await proxy.restore()
}

async function clusterFailover(): Promise<Scene> {
  const cluster = await startCluster()
  return {
    target: { nodes: cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) },
    begin: () => cluster.killPrimary(),
    end: () => cluster.whenOk(),
    close: () => cluster.stop(),
  }
}

async function sentinelFailover(): Promise<Scene> {
  const { sentinels, name, killPrimary, whenFailedOver, stop } = await startSentinel()
  let dead: RedisServer
  return {
    target: { sentinels, name },
    begin: async () => (dead = await killPrimary()),
    end: () => whenFailedOver(dead),
    close: stop,
  }
}
