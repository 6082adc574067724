import type { Socket } from 'node:net'
import type { Store } from '@tollgate/core'
import type { Served } from '../served.ts'
import type { Serve, ServeOptions } from './adapter-contract.ts'

export interface HttpBench {
  /** Starts an application behind the limiter, and resolves with its URL. It is closed after the test. */
  start(options: ServeOptions['options'], rest?: Omit<ServeOptions, 'options'>): Promise<string>
  /** Sends `count` requests one after another, and resolves with their statuses. */
  statuses(url: string, count: number, init?: RequestInit): Promise<number[]>
}

/** Waits until the server knows that the client has left. Not with `once` of `node:events`: it rejects on a reset. */
export function whenGone({ socket }: { readonly socket: Socket }): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })
}

/** Starts applications for the tests of one `describe`, each on a new store. */
export function httpBench(
  serve: Serve,
  makeStore: () => Store | undefined,
  usual: RequestInit = {},
): HttpBench {
  const servers: Served[] = []
  afterEach(async () => {
    await Promise.all(servers.splice(0).map((served) => served.close()))
  })
  return {
    async start(options, rest = {}) {
      const store = options.limiter ? undefined : makeStore()
      const served = await serve({ options: { ...(store && { store }), ...options }, ...rest })
      servers.push(served)
      return served.url
    },
    async statuses(url, count, init = usual) {
      const answers = []
      for (let i = 0; i < count; i += 1) answers.push((await fetch(url, init)).status)
      return answers
    },
  }
}
