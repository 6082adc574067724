// A WebSocket server: a plan says how many sockets of a user may be open, and every message takes a unit. Who may not
// connect is refused before the handshake, by a plain HTTP answer. Whoever floods is told when to come back, and stays
// connected.
// To copy: npm install @tollgate/core ws ioredis
import { createServer } from 'node:http'
import { createLimiter, memoryStore, redisStore, refuseUpgrade, subjectForIp } from '@tollgate/core'
import { Redis } from 'ioredis'
import { WebSocketServer } from 'ws'

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'websocket', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
const deadlineMs = Number(DEADLINE_MS)
// At most 20 messages at once, then 10 a second.
export const limiter = createLimiter({ store, limit: '10/s burst 20', deadlineMs })
// Tries of clients that nobody knows, by their address.
const tries = limiter.scope({ group: 'tries', limit: '30/min' })
/** Of open sockets. It has a name, since two limiters share the store. */
export const open = createLimiter({
  store,
  name: 'sockets',
  plans: { free: '3 concurrent', pro: '20 concurrent' },
  defaultPlan: 'free',
  deadlineMs,
})

// In an app of your own: a look-up in your database, or of a session. Browsers send cookies along, but no headers of yours.
const users = new Map([
  ['key-of-ada', { id: 'ada', plan: 'free' }],
  ['key-of-bob', { id: 'bob', plan: 'pro' }],
  ['key-of-cleo', { id: 'cleo', plan: 'free' }],
])

export const server = createServer()
const sockets = new WebSocketServer({ noServer: true, maxPayload: 16_384 })
server.on('upgrade', async (request, socket, head) => {
  socket.on('error', () => {}) // of a client that leaves: without a listener it would end the process
  const user = users.get(request.headers['x-api-key'] ?? '')
  if (!user) return refuseStranger(request, socket)
  const decision = await open.consume(user)
  if (!decision.allowed) return refuseUpgrade(socket, decision)
  socket.once('close', () => decision.release())
  if (socket.destroyed) return decision.release() // the client left meanwhile
  sockets.handleUpgrade(request, socket, head, (opened) => sockets.emit('connection', opened, user))
})

async function refuseStranger(request, socket) {
  const decision = await tries.consume(subjectForIp(request.socket.remoteAddress))
  if (!decision.allowed) return refuseUpgrade(socket, decision)
  const answer = 'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'
  socket.end(answer, () => socket.destroy()) // it could keep its half of the connection open
}

sockets.on('connection', (socket, user) => {
  // Without a listener, one frame that is broken would end the process for everyone; ws closes the socket.
  socket.on('error', () => {})
  socket.on('message', async (message) => {
    const { allowed, retryAfterMs } = await limiter.consume(user.id)
    // Whoever floods is told when to come back, and stays connected.
    if (allowed) socket.send(JSON.stringify({ echo: String(message) }))
    else socket.send(JSON.stringify({ limited: true, retryAfterMs }))
  })
})

server.listen(Number(PORT), () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** In this order: what is under way is answered, what is owed is charged, and then nothing needs Redis any more. */
export async function close() {
  for (const socket of sockets.clients) socket.terminate() // an open one would keep the server open
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await new Promise((resolve) => server.close(resolve))
  await Promise.all([limiter.close(), open.close()])
  redis?.disconnect() // not quit(), which would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
