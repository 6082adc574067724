// Streams of events, a few at a time for each tenant. FRAMEWORK is express, fastify or koa.
import { once } from 'node:events'
import { disconnect, limiter } from './limits.js'

const { PORT = '3000', FRAMEWORK = 'express' } = process.env

const { serve } = await import(`./${FRAMEWORK}.js`)
const server = await serve(Number(PORT))
if (!server.listening) await once(server, 'listening')
console.log(`Listening on http://127.0.0.1:${server.address().port}`)

/** The order matters: streams end, then what is owed is charged, and then Redis is not needed. */
async function close() {
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections() // a stream without an end would keep the server open
  await closed
  await limiter.close()
  disconnect()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
