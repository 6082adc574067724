import { subscribe } from 'node:diagnostics_channel'
import { memcachedStore } from '@tollgate/memcached'
import memjs from 'memjs'

/** @param {{ client: 'address' | 'memjs', target: { port: number } | { ports: number[] } }} options */
export async function open({ client, target: { port, ports = [port] } }) {
  const servers = ports.map((each) => `127.0.0.1:${each}`)
  // The store closes its own connections with the limiter.
  if (client === 'address') return { store: memcachedStore(servers), close: () => {} }
  const sockets = new Set()
  subscribe('net.client.socket', ({ socket }) => sockets.add(socket))
  // With its default, memjs writes a line for each request that fails. Nothing is sent twice, so the limiter hears at once.
  const users = memjs.Client.create(servers.join(','), { logger: { log: () => {} }, retries: 1 })
  // Of a connection that it opened while the one before was closing, memjs loses sight, and does not close it.
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  return { store: memcachedStore(users), close }
}
