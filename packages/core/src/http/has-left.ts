import type { Socket } from 'node:net'

/** Whether the client of a connection has left: what adapters whose framework stands on Node give as `hasLeft`. */
export function hasLeft(socket: Socket | undefined): boolean {
  // Mocks of requests have none.
  if (!socket) return false
  // A client that resets its connection is nobody's peer at once, and Node closes it only later. Who comes by a Unix
  // socket has no address at either end.
  return socket.destroyed || (socket.remoteAddress === undefined && socket.localAddress !== undefined)
}
