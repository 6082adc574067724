import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { createLimiter, type Limiter, type LimiterOptions, type Store } from '@tollgate/core'
import type { ServedByNode } from '../served.ts'
import type { Serve, ServeOptions } from './adapter-contract.ts'

export interface HttpBench {
  /** A limiter on a store of its own, until the test ends. The deadline is long, so that a busy machine is not taken for an outage. */
  limiterOf(options: LimiterOptions): Limiter
  /** Serves an application behind the limiter until the test ends. Resolves to its URL. */
  start(options: ServeOptions['options'], rest?: Omit<ServeOptions, 'options'>): Promise<string>
  /** Node's server of the application that was started last. */
  server(): EventEmitter
  /** The statuses of `count` requests, sent one after another. */
  statuses(url: string, count: number, init?: RequestInit): Promise<number[]>
}

/** Resolves when the server knows that the client has left. Not with `once`, which would throw on a reset. */
export function whenGone({ socket }: { readonly socket: Socket }): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })
}

/** Starts applications for the tests of one `describe`, each on a store of its own. */
export function httpBench(
  serve: Serve,
  makeStore: () => Store | undefined,
  usual: RequestInit = {},
): HttpBench {
  const servers: ServedByNode[] = []
  const limiters: Limiter[] = []
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((served) => served.close()))
    await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
  })
  return {
    limiterOf(options) {
      const store = makeStore()
      const limiter = createLimiter({ ...(store && { store }), deadlineMs: 10_000, ...options })
      limiters.push(limiter)
      return limiter
    },
    async start(options, rest = {}) {
      const store = options.limiter ? undefined : makeStore()
      const served = await serve({
        options: { ...(store && { store, deadlineMs: 10_000 }), ...options },
        ...rest,
      })
      servers.push(served)
      return served.url
    },
    server: () => (servers.at(-1) as ServedByNode).server,
    async statuses(url, count, init = usual) {
      const answers = []
      for (let i = 0; i < count; i += 1) answers.push((await fetch(url, init)).status)
      return answers
    },
  }
}
