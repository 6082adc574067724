// A language model API with a limit of tokens a minute. It reserves what an answer can use, and commits what it did use.
// To copy, with a model of yours: npm install @tollgate/express express ioredis
import { toHttpResponse, byIp, createLimiter, memoryStore, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'
import { complete, tokensOf } from './model.js'

const { PORT = '3000', REDIS_URL } = process.env

// With Redis all instances count together. Without it each process counts for itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis) : memoryStore()
const limiter = createLimiter({ store, limit: '1000/min' })

/** The longest answer in tokens, and the longest time that it takes. */
const [LONGEST, SLOWEST] = [500, '2min']

// In your app: a look-up in your database. A request with an unknown key counts against the client's address.
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
  // Before the model begins: nobody else can take these tokens meanwhile, so no answer is cut off half-way.
  const held = await limiter.reserve(tenantOf(req), { cost: asked + most, for: SLOWEST })
  const { status, headers, body } = toHttpResponse(held.decision, { accept: req.get('accept') })
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value)
  if (status) {
    res.status(status).end(body)
    return
  }
  let given = 0
  const leaving = new AbortController()
  res.once('close', () => leaving.abort()) // also at the end, where it changes nothing
  try {
    for await (const word of complete(prompt, { most, signal: leaving.signal })) {
      given += 1
      res.write(`${word} `)
    }
    res.end()
  } finally {
    // Also if the client has left: the tokens so far were made.
    await held.commit(asked + given)
  }
})
app.use((error, _req, res, _next) => {
  if (res.headersSent) res.destroy()
  else res.status(error.status ?? 500).json({ error: error.message })
})

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** The order matters: requests under way are answered, then what is owed is charged, and then Redis is not needed. */
async function close() {
  server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  redis?.disconnect() // quit() would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
