// Tries the example. The order matters: the kit says which port and counters are the example's.
import { check, play, statuses } from '@tollgate/example-kit'
import * as app from './app.js'

async function drive(url) {
  const as = (org, user) => fetch(url, { headers: { 'x-org': org, 'x-user': user } })
  const why = async (org, user) => (await (await as(org, user)).json())['violated-policies']
  check('ada has 4 a minute', await statuses(5, () => as('acme', 'ada')), { 200: 4, 429: 1 })
  check('she is denied for herself', await why('acme', 'ada'), ['user.minute'])
  check('her organisation has 2 of 6 left, for bob', await statuses(3, () => as('acme', 'bob')), {
    200: 2,
    429: 1,
  })
  check('he is denied for the organisation', await why('acme', 'bob'), ['minute'])
  check('and the address has 3 of 9 left', await statuses(4, () => as('globex', 'carl')), {
    200: 3,
    429: 1,
  })
  check('which denies everyone on it', await why('globex', 'dora'), ['address.minute'])
}

const hint = (url) => [
  `curl -i ${url}/ -H 'x-org: acme' -H 'x-user: ada'    # the fifth is denied: user.minute`,
  `curl -i ${url}/ -H 'x-org: acme' -H 'x-user: bob'    # then the third: minute, of the organisation`,
  `curl -i ${url}/ -H 'x-org: globex' -H 'x-user: carl' # then the fourth: address.minute`,
]

await play(app, { drive, hint })
