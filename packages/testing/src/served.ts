import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An application that listens on 127.0.0.1. */
export interface Served {
  /** Ends with a slash. */
  readonly url: string
  close(): Promise<void>
}

/** Serves a handler of Node's requests; applications of most frameworks are one. */
export async function serveHandler(handler: RequestListener): Promise<Served> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Sends requests to an application. */
export interface Client {
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** The statuses of `count` requests, sent one after another. */
  statuses(count: number, path: string, headers?: Record<string, string>): Promise<number[]>
}

/** @param serve called for each request; returns the application */
export function clientOf(serve: () => Promise<Served>): Client {
  const get: Client['get'] = async (path, headers = {}) => fetch(`${(await serve()).url}${path}`, { headers })
  return {
    get,
    statuses: async (count, path, headers) => {
      const answers = []
      for (let i = 0; i < count; i += 1) answers.push((await get(path, headers)).status)
      return answers
    },
  }
}
