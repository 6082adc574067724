// A GraphQL API. Before a query is executed it is charged by what it could return, and afterwards by what it did return.
// To copy, with cost.js: npm install @tollgate/express express graphql ioredis
import { createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import {
  buildSchema,
  execute,
  getOperationAST,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  validate,
} from 'graphql'
import { Redis } from 'ioredis'
import { costOf, lengthOf, sizeOf } from './cost.js'

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

const schema = buildSchema(`
  type Query { users(first: Int = 100): [User!]! }
  type User { name: String!, posts(first: Int = 100): [Post!]! }
  type Post { title: String! }
`)
const POSTS = [{ title: 'post 1' }, { title: 'post 2' }]
const posts = (args) => POSTS.slice(0, lengthOf(args))
const users = (args) => ['ada', 'bob', 'carl'].slice(0, lengthOf(args)).map((name) => ({ name, posts }))

/** Introspection has lists without `first`, so nobody could say what it costs. */
const RULES = [...specifiedRules, NoSchemaIntrospectionCustomRule]

/** What a request asks for, and the most that it can cost. Throws if it is no query. */
function read({ query, operationName, variables } = {}) {
  // Parsing costs the client no units, so it must be quick.
  const document = parse(String(query), { maxTokens: 1000 })
  const [error] = validate(schema, document, RULES)
  if (error) throw error
  const operation = getOperationAST(document, operationName)
  if (!operation) throw new Error('which operation? Say operationName')
  return { document, operationName, variables, cost: costOf(schema, document, operation, variables) }
}

// In your app: a look-up in your database. A request with an unknown key counts against the client's address.
const tenants = new Map([['key-of-acme', 'acme']])
const tenantOf = (req) => tenants.get(req.get('x-api-key') ?? '')

const app = express()
app.use('/graphql', express.json(), (req, res, next) => {
  try {
    req.asked = read(req.body)
  } catch (error) {
    res.status(400).json({ errors: [{ message: error.message }] })
    return
  }
  next()
})
// Charged by what the query could return, before anything is computed.
app.use('/graphql', rateLimit({ limiter, identify: tenantOf, cost: (req) => Math.max(req.asked.cost, 1) }))
app.post('/graphql', async (req, res) => {
  const { asked, rateLimit: decision } = req
  const { document, operationName, variables } = asked
  const result = await execute({
    schema,
    document,
    operationName,
    rootValue: { users },
    variableValues: variables,
  })
  // Then by what it did return, at least one unit.
  const took = await limiter.settle(decision, Math.max(sizeOf(result.data), 1))
  res.json({ ...result, extensions: { cost: { asked: decision.cost, took } } })
})
app.use((error, _req, res, _next) =>
  res.status(error.status ?? 500).json({ errors: [{ message: error.message }] }),
)

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
