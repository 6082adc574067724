import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ResponseEnd } from './adapter.js'

type Listener = (end: ResponseEnd) => void

const WATCH = Symbol('tollgate.responseWatch')

interface Watched extends ServerResponse {
  [WATCH]?: Watch
  /** Only in HTTP/2. */
  readonly stream?: {
    readonly aborted?: boolean
    readonly sentHeaders?: Readonly<Record<string, unknown>>
  }
}

/**
 * Calls the listener once when a response is over: it was sent, or its connection closed. If something such as a WebSocket
 * took the connection over, the response is over when the connection closes. For the `onEnd` of adapters on Node's HTTP
 * server.
 */
export function onResponseEnd(response: ServerResponse, listener: Listener): void {
  const watched = response as Watched
  watched[WATCH] ??= new Watch(watched)
  watched[WATCH].add(listener)
}

/** Calls all listeners for one response. They share one listener on the response, so that Node does not warn of a leak. */
class Watch {
  readonly #response: Watched
  /** The watches of all responses of the connection. */
  #ofConnection: Set<Watch> | undefined
  readonly #listeners: Listener[] = []
  #end: ResponseEnd | undefined

  constructor(response: Watched) {
    this.#response = response
    // Mock responses may have no request, and mock requests no socket, or one without events.
    const socket = (response.req as Partial<IncomingMessage> | undefined)?.socket
    // The response may be over already. Then no event follows.
    if (response.destroyed || response.writableFinished || socket?.destroyed) this.over()
    else this.#listen(typeof socket?.once === 'function' ? socket : undefined)
  }

  #listen(socket: Socket | undefined): void {
    const over = (): void => this.over()
    // Injected requests, as in tests, may finish but never close.
    this.#response.once('finish', over)
    this.#response.once('close', over)
    // A response has no socket while it waits behind others in a pipeline, or once the connection was taken over. Then only
    // the connection reports the end.
    this.#ofConnection = socket && watchesOf(socket).add(this)
  }

  add(listener: Listener): void {
    if (this.#end) listener(this.#end)
    else this.#listeners.push(listener)
  }

  over(): void {
    if (this.#end) return
    const response = this.#response
    this.#end = endOf(response)
    this.#ofConnection?.delete(this)
    for (const listener of this.#listeners) listener(this.#end)
  }
}

function endOf(response: Watched): ResponseEnd {
  const status = statusOf(response)
  // Node ends the response of an HTTP/2 stream that its client cancelled as if it had been sent.
  const isCancelled = response.stream?.aborted === true
  if (status === undefined || isCancelled || !response.writableFinished) return { status, isAborted: true }
  return { status, isAborted: false }
}

/** The status that was sent. Before that a response has the preset of its framework: 200, or 404 in Koa. */
function statusOf({
  headersSent,
  writableFinished,
  socket,
  statusCode,
  stream,
}: Watched): number | undefined {
  // Without a socket, the response is written to a buffer that is never sent.
  if (!headersSent || (socket === null && !writableFinished)) return undefined
  const sent = stream?.sentHeaders?.[':status']
  return typeof sent === 'number' ? sent : statusCode
}

/** The responses of each connection. One `close` listener serves them all. */
const ofSocket = new WeakMap<Socket, Set<Watch>>()

function watchesOf(socket: Socket): Set<Watch> {
  const known = ofSocket.get(socket)
  if (known) return known
  const watches = new Set<Watch>()
  ofSocket.set(socket, watches)
  socket.once('close', () => {
    for (const watch of watches) watch.over()
  })
  return watches
}

/** Whether a connection's client has disconnected. For the `hasLeft` of adapters on Node's HTTP server. */
export function hasLeft(socket: Socket | undefined): boolean {
  // Mock requests have no socket.
  if (!socket) return false
  // After a reset the remote address is gone at once, but Node destroys the socket only later. A Unix socket has no
  // address at either end.
  return socket.destroyed || (socket.remoteAddress === undefined && socket.localAddress !== undefined)
}
