import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ResponseEnd } from './adapter.js'

/** Calls the listener once when a response is over. For the `onEnd` of adapters based on Node's HTTP server. */
export function onResponseEnd(response: ServerResponse, listener: (end: ResponseEnd) => void): void {
  let isTold = false
  const tell = (): void => {
    if (isTold) return
    isTold = true
    if (socket) ofSocket.get(socket)?.delete(tell)
    listener(endOf(response))
  }
  // Mock responses may have no request.
  const socket = (response.req as IncomingMessage | undefined)?.socket
  // With pipelined requests a response waits for its turn without a socket, and gets no event if the connection closes.
  const isWaiting = response.socket === null
  // The response may be over already. Then no event follows.
  if (response.destroyed || response.writableFinished || (isWaiting && socket?.destroyed)) return tell()
  // Injected requests, as in tests, may finish but never close.
  response.once('finish', tell)
  response.once('close', tell)
  if (isWaiting && socket) onSocketClose(socket, tell)
}

function endOf(response: ServerResponse): ResponseEnd {
  const status = statusOf(response)
  if (status === undefined || !response.writableFinished || isCancelled(response)) {
    return { status, isAborted: true }
  }
  return { status, isAborted: false }
}

/** Of HTTP/2. */
interface WithStream {
  readonly stream?: {
    readonly aborted?: boolean
    readonly sentHeaders?: Readonly<Record<string, unknown>>
  }
}

/** The status that was sent. What a response has before that is preset by its framework: 200, or 404 in Koa. */
function statusOf({ headersSent, statusCode, stream }: ServerResponse & WithStream): number | undefined {
  if (!headersSent) return undefined
  const sent = stream?.sentHeaders?.[':status']
  return typeof sent === 'number' ? sent : statusCode
}

/** Whether an HTTP/2 client cancelled the request. Node then ends the response as if it had been sent. */
function isCancelled({ stream }: ServerResponse & WithStream): boolean {
  return stream?.aborted === true
}

/** The callbacks of each connection. One `close` listener calls them all, so that Node sees no listener leak. */
const ofSocket = new WeakMap<Socket, Set<() => void>>()

function onSocketClose(socket: Socket, tell: () => void): void {
  const known = ofSocket.get(socket)
  if (known) {
    known.add(tell)
    return
  }
  const waiting = new Set([tell])
  ofSocket.set(socket, waiting)
  socket.once('close', () => {
    for (const one of waiting) one()
  })
}
