// Tries the example. The order matters: the kit says which port and counters are the example's.
import { check, play, statuses } from '@tollgate/example-kit'
import * as app from './app.js'

async function drive(url) {
  const as = (user) => fetch(url, { headers: { 'x-api-key': `key-of-${user}` } })
  const why = async (user) => (await (await as(user)).json())['violated-policies']
  check('who is unknown is sent away', (await as('eve')).status, 401)
  check('ada has 4 a minute', await statuses(5, () => as('ada')), { 200: 4, 429: 1 })
  check('she is denied for herself', await why('ada'), ['user.minute'])
  check('her organisation has 2 of 6 left, for bob', await statuses(3, () => as('bob')), {
    200: 2,
    429: 1,
  })
  check('he is denied for the organisation', await why('bob'), ['minute'])
  check('and the address has 3 of 9 left', await statuses(4, () => as('carl')), {
    200: 3,
    429: 1,
  })
  check('which denies everyone on it', await why('dora'), ['address.minute'])
}

const hint = (url) => [
  `curl -i ${url}/ -H 'x-api-key: key-of-ada'  # the fifth is denied: user.minute`,
  `curl -i ${url}/ -H 'x-api-key: key-of-bob'  # then the third: minute, of the organisation`,
  `curl -i ${url}/ -H 'x-api-key: key-of-carl' # then the fourth: address.minute`,
]

await play(app, { drive, hint })
