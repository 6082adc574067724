import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { atCaller } from '../../base/errors.js'
import type { Decision } from '../../limiter/decision/decision.js'
import { toHttpResponse, type HttpResponseOptions } from './http-response.js'

/**
 * Answers a denied upgrade request (WebSocket) as the middleware would, and closes the connection. Sends 429, 403 for a
 * blocked subject, or 503 when the store could not answer, with `Retry-After` and the usual headers and body. For a
 * server's `upgrade` event, which has a raw socket instead of a response.
 *
 * @param socket the socket of the event; HTTP/1.1 only
 * @throws {ConfigError} when an option is wrong
 * @example
 * server.on('upgrade', async (req, socket, head) => {
 *   const decision = await limiter.consume(subjectForIp(req.socket.remoteAddress))
 *   if (!decision.allowed) return refuseUpgrade(socket, decision)
 *   sockets.handleUpgrade(req, socket, head, (opened) => sockets.emit('connection', opened, req))
 * })
 */
export function refuseUpgrade(socket: Duplex, decision: Decision, options?: HttpResponseOptions): void {
  const {
    status = 429,
    headers,
    body = '',
  } = atCaller(refuseUpgrade, () => toHttpResponse(decision, options))
  const all = { ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  // The client may have disconnected. Without a listener that error would end the process.
  socket.once('error', () => {})
  // Close it here: a client could keep its half of the connection open.
  socket.once('finish', () => socket.destroy())
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
}
