// Runs the example; with --once it also asks it and checks the answers.
import { check, play, statuses } from '../example-kit/src/index.js'

async function drive(url) {
  const as = (user) => fetch(url, { headers: { 'x-api-key': `key-of-${user}` } })
  const why = async (user) => (await (await as(user)).json())['violated-policies']
  check('an unknown key', (await as('eve')).status, 401)
  check('5 requests of ada, whose seat has 4 a minute', await statuses(5, () => as('ada')), {
    200: 4,
    429: 1,
  })
  check('the limit that denies ada: her seat', await why('ada'), ['user.minute'])
  check('3 requests of bob: ada left 2 of 6 of their organisation', await statuses(3, () => as('bob')), {
    200: 2,
    429: 1,
  })
  check('the limit that denies bob: the organisation', await why('bob'), ['minute'])
  check('4 requests of carl: 3 of 9 are left for the address', await statuses(4, () => as('carl')), {
    200: 3,
    429: 1,
  })
  check('the limit that denies everyone else there: the address', await why('dora'), ['address.minute'])
}

const hint = (url) => [
  `curl -i ${url}/ -H 'x-api-key: key-of-ada'  # the fifth is denied: user.minute`,
  `curl -i ${url}/ -H 'x-api-key: key-of-bob'  # then the third: minute, the limit of the organisation`,
  `curl -i ${url}/ -H 'x-api-key: key-of-carl' # then the fourth: address.minute`,
]

await play(new URL('src/app.js', import.meta.url).href, { drive, hint })
