// Where the API listens.
import { once } from 'node:events'

/** Listens there, or on a free port when that one is taken; resolves with the server. */
export async function listen(app, { host, port, onTaken }) {
  const server = app.listen(port, host)
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if (error.code !== 'EADDRINUSE' || port === 0) throw error
    onTaken?.()
    return listen(app, { host, port: 0 })
  }
}

/** An address that this machine can be asked at, wherever the server listens. */
export function urlOf(server) {
  const { address, port, family } = server.address()
  const local = { '0.0.0.0': '127.0.0.1', '::': '::1' }[address] ?? address
  return `http://${family === 'IPv6' ? `[${local}]` : local}:${port}/`
}

const ANSWER_WITHIN_MS = 2000

/** Resolves once what is under way is answered, or was given time to be. */
export function close(server) {
  setTimeout(() => server.closeAllConnections(), ANSWER_WITHIN_MS).unref()
  return new Promise((resolve) => server.close(resolve))
}
