import { createLimiter, type Decision, type Limiter, type LimiterOptions } from '@tollgate/core'
import type { Store } from '@tollgate/core/store'
import type { MemcachedServer } from '@tollgate/testing'
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { memcachedStore, type Memcached, type MemcachedStoreOptions } from '../src/index.ts'

/** A prefix that no other test has, so that all may use one server. */
export function newPrefix(): string {
  return `t${randomBytes(6).toString('hex')}`
}

/** A store as another process has it. In one process two limiters on the same keys need names. */
export function storeOfAnotherProcess(servers: Memcached, options?: MemcachedStoreOptions): Store {
  return Object.defineProperty(memcachedStore(servers, options), 'space', { value: {} })
}

/** Sends a command and waits for its answer. */
export async function command({ port }: MemcachedServer, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(`${text}\r\n`))
    socket.on('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      resolve(String(data))
    })
  })
}

/** Opens sockets that send each text by `send`: it may call `write` later, or never. What comes behind a text waits for it. */
export const connectBy =
  (send: (socket: Socket, text: string, write: () => void) => void) =>
  (address: object): Socket => {
    const socket = connect(address as { host: string; port: number })
    const { write } = socket
    const queue: { isReady: boolean; readonly go: () => void }[] = []
    socket.write = ((text: string, ...rest: []) => {
      const own = { isReady: false, go: () => void write.call(socket, text, ...rest) }
      queue.push(own)
      send(socket, text, () => {
        own.isReady = true
        while (queue[0]?.isReady) queue.shift()?.go()
      })
      return true
    }) as typeof socket.write
    return socket
  }

/** As many processes as a test wants: limiters with a connection each, and nothing in common but the server. */
export class Processes {
  readonly #limiters: Limiter[] = []

  start(
    servers: Memcached,
    options: LimiterOptions,
    store: MemcachedStoreOptions = { prefix: newPrefix() },
  ): Limiter {
    const limiter = createLimiter({
      // A slow machine must not let the failure policy decide where a test asks for the store.
      deadlineMs: 20_000,
      denials: false,
      ...options,
      store: storeOfAnotherProcess(servers, store),
    })
    this.#limiters.push(limiter)
    return limiter
  }

  async stop(): Promise<void> {
    await Promise.all(this.#limiters.splice(0).map((limiter) => limiter.close()))
  }
}

/** How many of some decisions let the request in. */
export function allowed(decisions: readonly Decision[]): number {
  return decisions.filter((decision) => decision.allowed).length
}

/** So many requests at once. */
export async function consumeAll(limiter: Limiter, id: string, times: number, cost = 1): Promise<Decision[]> {
  return Promise.all(Array.from({ length: times }, async () => limiter.consume(id, { cost })))
}
