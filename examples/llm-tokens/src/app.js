// A language model API: tokens a minute. What an answer can take is reserved, what it did take is committed.
// To copy, with a model of yours: npm install @tollgate/express express ioredis
import { toHttpResponse, byIp, createLimiter, memoryStore, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'
import { complete, tokensOf } from './model.js'

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'llm', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
export const limiter = createLimiter({ store, limit: '1000/min', deadlineMs: Number(DEADLINE_MS) })

/** No answer is longer, in tokens, or takes longer. */
const [LONGEST, SLOWEST] = [500, '2min']

// In an app of your own: a look-up in your database. An unknown key is nobody, and counts by the client's address.
const tenants = new Map(['ada', 'bob', 'eve'].map((id) => [`key-of-${id}`, id]))
const byAddress = byIp()
const tenantOf = (req) => tenants.get(req.get('x-api-key') ?? '') ?? byAddress(req)

const app = express()
app.post('/complete', express.json(), async (req, res) => {
  const { prompt = '', maxTokens = LONGEST } = req.body ?? {}
  const most = Math.min(maxTokens, LONGEST)
  if (typeof prompt !== 'string' || !(Number.isInteger(most) && most >= 1)) {
    res.status(400).json({ error: 'write { "prompt": "...", "maxTokens": 100 }' })
    return
  }
  const asked = tokensOf(prompt)
  // Before the model begins: nobody else can take these tokens, and an answer is never cut off for want of them.
  const held = await limiter.reserve(tenantOf(req), { cost: asked + most, for: SLOWEST })
  const { status, headers, body } = toHttpResponse(held.decision, { accept: req.get('accept') })
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (status) {
    res.status(status).end(body)
    return
  }
  let given = 0
  const leaving = new AbortController()
  res.once('close', () => leaving.abort()) // at the end, too; then it changes nothing
  try {
    for await (const word of complete(prompt, { most, signal: leaving.signal })) {
      given += 1
      res.write(`${word} `)
    }
    res.end()
  } finally {
    // Also where the client has left: what the model did so far was paid for.
    await held.commit(asked + given)
  }
})
app.use((error, _req, res, _next) => {
  if (res.headersSent) res.destroy()
  else res.status(error.status ?? 500).json({ error: error.message })
})

export const server = app.listen(Number(PORT), () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** In this order: what is under way is answered, what is owed is charged, and then nothing needs Redis any more. */
export async function close() {
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  redis?.disconnect() // not quit(), which would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
