import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ResponseEnd } from './adapter.js'

/** Tells once when a response of Node is over: what adapters whose framework stands on Node give as `onEnd`. */
export function onResponseEnd(response: ServerResponse, listener: (end: ResponseEnd) => void): void {
  let isTold = false
  const tell = (): void => {
    if (isTold) return
    isTold = true
    if (socket) ofSocket.get(socket)?.delete(tell)
    listener({ status: response.statusCode, isAborted: !response.writableFinished || isCancelled(response) })
  }
  // Mocks of responses know no request.
  const socket = (response.req as IncomingMessage | undefined)?.socket
  // One that waits its turn on a connection, because requests were pipelined, is not told of its end.
  const isWaiting = response.socket === null
  // Injected requests, as tests make them, may never close.
  if (response.destroyed || response.writableFinished || (isWaiting && socket?.destroyed)) return tell()
  response.once('finish', tell)
  response.once('close', tell)
  if (isWaiting && socket) onSocketClose(socket, tell)
}

/** Of HTTP/2: the client no longer wants it, which ends the response as if it were sent. */
function isCancelled(
  response: ServerResponse & { readonly stream?: { readonly aborted?: boolean } },
): boolean {
  return response.stream?.aborted === true
}

/** Whom to tell, in one listener for all of a connection. */
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
