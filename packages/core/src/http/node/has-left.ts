import type { Socket } from 'node:net'

/** Whether the client of a connection has disconnected. For the `hasLeft` of adapters based on Node's HTTP server. */
export function hasLeft(socket: Socket | undefined): boolean {
  // Mock requests have no socket.
  if (!socket) return false
  // After a reset the remote address is gone at once, but Node destroys the socket only later. A Unix socket has no
  // address at either end.
  return socket.destroyed || (socket.remoteAddress === undefined && socket.localAddress !== undefined)
}
