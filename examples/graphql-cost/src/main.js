import { createServer } from 'node:http'
import { check, deadlineMs, listen, makeStore, play } from '@tollgate/example-kit'
import { createLimiter, rateLimit } from '@tollgate/express'
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
import { costOf, lengthOf, sizeOf } from './cost.js'

const schema = buildSchema(`
  type Query { users(first: Int = 100): [User!]! }
  type User { name: String!, posts(first: Int = 100): [Post!]! }
  type Post { title: String! }
`)
const POSTS = [{ title: 'post 1' }, { title: 'post 2' }]
const posts = (args) => POSTS.slice(0, lengthOf(args))
const users = (args) => ['ada', 'bob', 'carl'].slice(0, lengthOf(args)).map((name) => ({ name, posts }))

const { store, close } = makeStore()
const limiter = createLimiter({ store, limit: '1000/min', deadlineMs })

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
app.use(
  '/graphql',
  rateLimit({ limiter, identify: (req) => req.get('x-tenant'), cost: (req) => Math.max(req.asked.cost, 1) }),
)
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

/** Resolves with what a query of a tenant was answered. */
const asker = (url) => async (query, more) => {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tenant': 'acme' },
    body: JSON.stringify({ query, ...more }),
  })
  const { errors, extensions } = await response.json()
  return { status: response.status, cost: extensions?.cost, errors }
}

const left = async () => (await limiter.peek('acme')).limits[0].remaining
const plain = 'query ($n: Int) { users(first: $n) { name posts(first: 10) { title } } }'
const two = 'query A { users(first: 1) { name } } query B { users(first: 2) { name } }'

async function drive(url) {
  const ask = asker(url)
  await drivePriced(ask)
  await driveRefused(ask)
}

async function drivePriced(ask) {
  const { cost } = await ask(plain, { variables: { n: 5 } })
  check('5 users of 10 posts are 1 + 5 * (2 + 10) units at most', cost.asked, 61)
  check('but were 3 users of 2 posts: 1 + 3 * (2 + 2)', cost.took, 13)
  check('which is what is gone', await left(), 987)

  const spread =
    'query ($n: Int) { users(first: $n) { ...U } } fragment U on User { name posts(first: 10) { title } }'
  check('a fragment hides nothing', (await ask(spread, { variables: { n: 5 } })).cost, {
    asked: 61,
    took: 13,
  })
  check('the operation that is executed counts', (await ask(two, { operationName: 'B' })).cost, {
    asked: 3,
    took: 3,
  })
  check('a list of nothing is one field', (await ask('{ users(first: -1) { name } }')).cost, {
    asked: 1,
    took: 1,
  })
}

async function driveRefused(ask) {
  const rest = await left()
  const all = '{ users { name posts { title } } }'
  check(
    'all of everything is 1 + 100 * (2 + 100), more than the limit ever allows',
    (await ask(all)).status,
    429,
  )
  const doubled = [...Array(60).keys()]
    .map((i) => `fragment F${i + 1} on User { ...F${i} ...F${i} }`)
    .join(' ')
  const bomb = await ask(`{ users { ...F60 } } fragment F0 on User { name } ${doubled}`)
  check('and so are fragments of fragments', bomb.status, 429)
  check('what was denied took nothing', await left(), rest)

  const refused = [
    await ask('{ users {'),
    await ask(plain, { variables: { n: 'five' } }),
    await ask(two),
    await ask('{ __schema { types { name } } }'),
    await ask(`{ ${'a '.repeat(1000)} }`),
  ]
  check(
    'nor did what is no query',
    [...refused.map(({ status }) => status), await left()],
    [...refused.map(() => 400), rest],
  )
  check('without variables the default holds', (await ask(plain, { variables: null })).status, 429)
}

const server = createServer(app)
const url = await listen(server)
const curl = (query, note) =>
  `curl ${url}/graphql -H 'content-type: application/json' -H 'x-tenant: acme' -d '{"query":"${query}"}'   # ${note}`
await play({
  url,
  drive,
  hint: [
    curl('{ users(first: 5) { name posts(first: 10) { title } } }', '61 units, then 13'),
    curl('{ users { name posts { title } } }', 'more than the limit ever allows'),
  ],
  close: async () => {
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
  },
})
