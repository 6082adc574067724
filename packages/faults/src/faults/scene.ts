// What a fault is, and the ways in which a server of any kind fails.
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort, startProxy, type Proxy } from '@tollgate/testing/redis'

/** Where the application's client connects. */
export type Target =
  | { readonly port: number }
  | { readonly ports: readonly number[] }
  | { readonly nodes: readonly Address[] }
  | { readonly sentinels: readonly Address[]; readonly name: string }

interface Address {
  readonly host: string
  readonly port: number
}

/** A store that works until `begin`. */
export interface Scene {
  readonly target: Target
  begin(): Promise<unknown>
  /** Resolves when the store is back. */
  end(): Promise<unknown>
  close(): Promise<unknown>
}

export interface Fault {
  readonly name: string
  /** The store loses counts, all or some. */
  readonly forgets?: boolean
  /** The application starts during the fault. */
  readonly fromStart?: boolean
  /** The fault has no end. */
  readonly isForGood?: boolean
  /** Some calls succeed during it: the breaker need not open, and the store and the policy both answer. */
  readonly isPartial?: boolean
  /** The store loses counts that the application still knows: it must report that. */
  readonly evicts?: boolean
  /** It hits some tenants, and the store goes on for the others. */
  readonly sparesSome?: boolean
  /** The client that all frameworks use. Default: each its own. */
  readonly client?: string
  prepare(): Promise<Scene>
}

/** A real server. */
export interface Server {
  readonly port: number
  kill(): Promise<void>
  pause(): void
  resume(): void
}

export type Step<T> = (on: T) => unknown

export interface Proxied {
  readonly server: Server
  readonly proxy: Proxy
}

/** Starts a server, on the port of an earlier one if it is given. */
export type Start<S extends Server> = (options?: { readonly port?: number }) => Promise<S>

/** A server that is there only after the fault. */
export async function absent(start: Start<Server>): Promise<Scene> {
  const port = await freePort()
  let server: Server | undefined
  return {
    target: { port },
    begin: async () => {},
    end: async () => (server = await start({ port })),
    close: async () => server?.kill(),
  }
}

export async function onServer<S extends Server>(
  start: Start<S>,
  begin: Step<S>,
  end: Step<S>,
): Promise<Scene> {
  const server = await start()
  return {
    target: { port: server.port },
    begin: async () => begin(server),
    end: async () => end(server),
    close: () => server.kill(),
  }
}

/** A server that is killed at the end of the fault, if not before, and started anew. */
export async function restarted(start: Start<Server>, begin: Step<Server>): Promise<Scene> {
  let server = await start()
  const { port } = server
  return {
    target: { port },
    begin: async () => begin(server),
    end: async () => {
      await server.kill()
      server = await start({ port })
    },
    close: () => server.kill(),
  }
}

export async function onProxy(
  start: Start<Server>,
  begin: Step<Proxied>,
  end: Step<Proxied>,
): Promise<Scene> {
  const server = await start()
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
export async function repeated(start: Start<Server>, does: Step<Proxied>, everyMs: number): Promise<Scene> {
  let isOver = false
  let done = Promise.resolve()
  return onProxy(
    start,
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
