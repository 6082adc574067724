import { createServer } from 'node:http'
import { check, eventually, listen, makeStore, play } from '@tollgate/example-kit'
import { createLimiter, rateLimit } from '@tollgate/express'
import express from 'express'
import { buildSchema, execute, parse, validate } from 'graphql'
import { costOf, sizeOf } from './cost.js'

const schema = buildSchema(`
  type Query { users(first: Int = 100): [User!]! }
  type User { name: String!, posts(first: Int = 100): [Post!]! }
  type Post { title: String! }
`)
const posts = ({ first }) => Array.from({ length: Math.min(first, 2) }, (_, i) => ({ title: `post ${i}` }))
const users = ({ first }) => ['ada', 'bob', 'carl'].slice(0, first).map((name) => ({ name, posts }))

const { store, close } = makeStore()
const limiter = createLimiter({ store, limit: '1000/min', deadlineMs: 1000 })

const app = express()
app.use(express.json())
// What is not a query is refused before it costs anything.
app.use('/graphql', (req, res, next) => {
  try {
    req.document = parse(String(req.body?.query))
    const errors = validate(schema, req.document)
    if (errors.length === 0) next()
    else res.status(400).json({ errors })
  } catch (error) {
    res.status(400).json({ errors: [{ message: error.message }] })
  }
})
app.use(
  '/graphql',
  rateLimit({
    limiter,
    identify: (req) => req.get('x-tenant'),
    // By what the query could answer, before anything is worked out.
    cost: (req) => costOf(schema, req.document, req.body.variables),
  }),
)
app.post('/graphql', async (req, res) => {
  const { document, body, rateLimit: decision } = req
  const result = await execute({ schema, document, rootValue: { users }, variableValues: body.variables })
  // And then by what it did answer.
  const cost = await limiter.settle(decision, Math.max(sizeOf(result.data), 1))
  res.json({ ...result, extensions: { cost } })
})

const server = createServer(app)
await play({
  url: await listen(server),
  hint: [
    "curl localhost:3000/graphql -H 'content-type: application/json' -H 'x-tenant: acme' \\",
    `    -d '{"query":"{ users(first: 5) { name posts(first: 10) { title } } }"}'`,
  ],
  drive: async (url) => {
    const ask = async (query, variables) => {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-tenant': 'acme' },
        body: JSON.stringify({ query, variables }),
      })
      return { status: response.status, body: await response.json() }
    }
    const left = async () => (await limiter.peek('acme')).limits[0].remaining
    const small = await ask('query ($n: Int) { users(first: $n) { name posts(first: 10) { title } } }', {
      n: 5,
    })
    check('5 users of 10 posts are at most 1 + 5 * 2 + 50 units', small.status, 200)
    check('but were 3 users of 2 posts: 1 + 3 * 2 + 3 * 2', small.body.extensions.cost, 13)
    check('which is what is gone', await eventually(left, 987), 987)
    const large = await ask('{ users { name posts { title } } }')
    check('all of everything is 1 + 200 + 10000 at most, more than the limit', large.status, 429)
    check('and took nothing', await left(), 987)
    check('no query costs nothing', [(await ask('{ users {')).status, await left()], [400, 987])
  },
  close: async () => {
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
  },
})
