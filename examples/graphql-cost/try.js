// Runs the example; with --once it also asks it and checks the answers.
import { check, play } from '../example-kit/src/index.js'

/** Asks a query of a tenant. Resolves to the status, the cost and the errors. */
const asker = (url) => async (query, more) => {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-acme' },
    body: JSON.stringify({ query, ...more }),
  })
  const { errors, extensions } = await response.json()
  return { status: response.status, cost: extensions?.cost, errors }
}

const plain = 'query ($n: Int) { users(first: $n) { name posts(first: 10) { title } } }'
const two = 'query A { users(first: 1) { name } } query B { users(first: 2) { name } }'

async function drive(url, [limiter]) {
  const left = async () => (await limiter.peek('acme')).limits[0].remaining
  const ask = asker(url)
  await drivePriced(ask, left)
  await driveRefused(ask, left)
}

async function drivePriced(ask, left) {
  const { cost } = await ask(plain, { variables: { n: 5 } })
  check('cost before: 5 users of 10 posts can be 1 + 5 * (2 + 10) units', cost.asked, 61)
  check('cost after: 3 users of 2 posts were 1 + 3 * (2 + 2)', cost.took, 13)
  check('left of 1000', await left(), 987)

  const spread =
    'query ($n: Int) { users(first: $n) { ...U } } fragment U on User { name posts(first: 10) { title } }'
  check('cost of the same query through a fragment', (await ask(spread, { variables: { n: 5 } })).cost, {
    asked: 61,
    took: 13,
  })
  check(
    'cost of one operation of two: the one that is executed',
    (await ask(two, { operationName: 'B' })).cost,
    {
      asked: 3,
      took: 3,
    },
  )
  check('cost of an empty list: one field', (await ask('{ users(first: -1) { name } }')).cost, {
    asked: 1,
    took: 1,
  })
}

async function driveRefused(ask, left) {
  const rest = await left()
  const all = '{ users { name posts { title } } }'
  check('a query of 1 + 100 * (2 + 100) units, more than the limit ever allows', (await ask(all)).status, 429)
  const doubled = [...Array(60).keys()]
    .map((i) => `fragment F${i + 1} on User { ...F${i} ...F${i} }`)
    .join(' ')
  const bomb = await ask(`{ users { ...F60 } } fragment F0 on User { name } ${doubled}`)
  check('60 fragments, each with the next one twice', bomb.status, 429)
  check('left after the denials: as much as before', await left(), rest)

  const refused = [
    await ask('{ users {'),
    await ask(plain, { variables: { n: 'five' } }),
    await ask(two),
    await ask('{ __schema { types { name } } }'),
    await ask(`{ ${'a '.repeat(1000)} }`),
  ]
  check(
    'five bad queries, and what is left after them',
    [...refused.map(({ status }) => status), await left()],
    [...refused.map(() => 400), rest],
  )
  check(
    'a query without variables, whose default is too much',
    (await ask(plain, { variables: null })).status,
    429,
  )
}

function hint(url) {
  const curl = (query, note) =>
    `curl ${url}/graphql -H 'content-type: application/json' -H 'x-api-key: key-of-acme' -d '{"query":"${query}"}'   # ${note}`
  return [
    curl('{ users(first: 5) { name posts(first: 10) { title } } }', '61 units, then 13'),
    curl('{ users { name posts { title } } }', 'more than the limit ever allows'),
  ]
}

await play(new URL('src/app.js', import.meta.url).href, { drive, hint })
