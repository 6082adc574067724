// A GraphQL API: a query is charged by what it could answer, before it is executed, and settled by what it did answer.
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

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'graphql', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
export const limiter = createLimiter({ store, limit: '1000/min', deadlineMs: Number(DEADLINE_MS) })

const schema = buildSchema(`
  type Query { users(first: Int = 100): [User!]! }
  type User { name: String!, posts(first: Int = 100): [Post!]! }
  type Post { title: String! }
`)
const POSTS = [{ title: 'post 1' }, { title: 'post 2' }]
const posts = (args) => POSTS.slice(0, lengthOf(args))
const users = (args) => ['ada', 'bob', 'carl'].slice(0, lengthOf(args)).map((name) => ({ name, posts }))

/** Introspection has lists without `first`, so it would have no price. */
const RULES = [...specifiedRules, NoSchemaIntrospectionCustomRule]

/** What a request asks for, and what that can cost at most; throws when it is no query. */
function read({ query, operationName, variables } = {}) {
  // Reading costs the client nothing, so it must not take long.
  const document = parse(String(query), { maxTokens: 1000 })
  const [error] = validate(schema, document, RULES)
  if (error) throw error
  const operation = getOperationAST(document, operationName)
  if (!operation) throw new Error('which operation? Say operationName')
  return { document, operationName, variables, cost: costOf(schema, document, operation, variables) }
}

// In an app of your own: a look-up in your database. An unknown key is nobody, and counts by the client's address.
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
// By what the query could answer, before anything is worked out.
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
  // And then by what it did answer, which is a unit at least.
  const took = await limiter.settle(decision, Math.max(sizeOf(result.data), 1))
  res.json({ ...result, extensions: { cost: { asked: decision.cost, took } } })
})
app.use((error, _req, res, _next) =>
  res.status(error.status ?? 500).json({ errors: [{ message: error.message }] }),
)

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
