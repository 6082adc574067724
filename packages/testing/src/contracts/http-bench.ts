import type { Socket } from 'node:net'
import type { Store } from '@tollgate/core'
import type { Served } from '../served.ts'
import type { Serve, ServeOptions } from './adapter-contract.ts'

export interface HttpBench {
  /** Serves an application behind the limiter until the test is over; its URL. */
  start(options: ServeOptions['options'], rest?: Omit<ServeOptions, 'options'>): Promise<string>
  /** What so many requests are answered, one after another. */
  statuses(url: string, count: number, init?: RequestInit): Promise<number[]>
}

/** Until the server knows that the client of a request has left. Not by `once`, which a reset would make throw. */
export function whenGone({ socket }: { readonly socket: Socket }): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve()
    else socket.once('close', () => resolve())
  })
}

/** For the tests of one `describe`: applications on stores of their own. */
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
