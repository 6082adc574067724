// A WebSocket server. A plan says how many sockets a user may have open, and each message takes a unit. A client that may
// not connect is refused before the handshake, by a plain HTTP answer. One that floods stays connected, and hears when to
// go on.
// To copy: npm install @tollgate/core ws ioredis
import { createServer } from 'node:http'
import { createLimiter, memoryStore, redisStore, refuseUpgrade, subjectForIp } from '@tollgate/core'
import { Redis } from 'ioredis'
import { WebSocketServer } from 'ws'

const { PORT = '3000', REDIS_URL } = process.env

// With Redis all instances count together. Without it each process counts for itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis) : memoryStore()
// At most 20 messages at once, then 10 a second.
const limiter = createLimiter({ store, limit: '10/s burst 20' })
// Clients that nobody knows count by their address.
const tries = limiter.scope({ group: 'tries', limit: '30/min' })
// Open sockets. This limiter has a name, since two share the store.
const open = createLimiter({
  store,
  name: 'sockets',
  plans: { free: '3 concurrent', pro: '20 concurrent' },
  defaultPlan: 'free',
})

// In your app: a look-up in your database, or of a session. Browsers send cookies, but no headers of yours.
const users = new Map([
  ['key-of-ada', { id: 'ada', plan: 'free' }],
  ['key-of-bob', { id: 'bob', plan: 'pro' }],
  ['key-of-cleo', { id: 'cleo', plan: 'free' }],
])

const server = createServer()
const sockets = new WebSocketServer({ noServer: true, maxPayload: 16_384 })
server.on('upgrade', async (request, socket, head) => {
  socket.on('error', () => {}) // a client that leaves; without a listener it would end the process
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
  socket.end(answer, () => socket.destroy()) // or it could keep its half of the connection open
}

sockets.on('connection', (socket, user) => {
  // Without a listener a broken frame would end the process. ws closes the socket.
  socket.on('error', () => {})
  socket.on('message', async (message) => {
    const { allowed, retryAfterMs } = await limiter.consume(user.id)
    if (allowed) socket.send(JSON.stringify({ echo: String(message) }))
    else socket.send(JSON.stringify({ limited: true, retryAfterMs }))
  })
})

server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** The order matters: requests under way are answered, then what is owed is charged, and then Redis is not needed. */
async function close() {
  for (const socket of sockets.clients) socket.terminate() // an open one would keep the server open
  server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await new Promise((resolve) => server.close(resolve))
  await Promise.all([limiter.close(), open.close()])
  redis?.disconnect() // quit() would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
