import { once, type EventEmitter } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import {
  createServer as createHttp2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'

/** An application that listens on 127.0.0.1. */
export interface Served {
  /** Ends with a slash. */
  readonly url: string
  close(): Promise<void>
}

/** One whose server a test may listen to, such as for upgrades. */
export interface ServedByNode extends Served {
  readonly server: EventEmitter
}

/** Serves a handler of Node's requests; applications of most frameworks are one. */
export async function serveHandler(handler: RequestListener): Promise<ServedByNode> {
  const server = createServer(handler).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    server,
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The same over HTTP/2, without TLS. */
export async function serveHttp2Handler(
  handler: (req: Http2ServerRequest, res: Http2ServerResponse) => void,
): Promise<ServedByNode> {
  const server = createHttp2Server(handler).listen(0, '127.0.0.1')
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    server,
    url: `http://127.0.0.1:${port}/`,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Lets the `close` of an application close the limiters of its middleware, too: left open, they would go on asking their store. */
export function closingLimiters<App extends Served>(
  app: App,
  middleware: readonly { readonly limiter: { close(): Promise<void> } }[],
): App {
  const close = async (): Promise<void> => {
    await app.close()
    await Promise.all(middleware.map(({ limiter }) => limiter.close()))
  }
  return { ...app, close }
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
