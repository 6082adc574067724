// Tries the example. The order matters: the kit says which port and counters are the example's.
import { check, play } from '@tollgate/example-kit'
import * as app from './app.js'

/** Resolves with what a query of a tenant was answered. */
const asker = (url) => async (query, more) => {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': 'key-of-acme' },
    body: JSON.stringify({ query, ...more }),
  })
  const { errors, extensions } = await response.json()
  return { status: response.status, cost: extensions?.cost, errors }
}

const left = async () => (await app.limiter.peek('acme')).limits[0].remaining
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

function hint(url) {
  const curl = (query, note) =>
    `curl ${url}/graphql -H 'content-type: application/json' -H 'x-api-key: key-of-acme' -d '{"query":"${query}"}'   # ${note}`
  return [
    curl('{ users(first: 5) { name posts(first: 10) { title } } }', '61 units, then 13'),
    curl('{ users { name posts { title } } }', 'more than the limit ever allows'),
  ]
}

await play(app, { drive, hint })
