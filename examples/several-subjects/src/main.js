import { createServer } from 'node:http'
import { check, deadlineMs, listen, makeStore, play, statuses } from '@tollgate/example-kit'
import { byIp, createLimiter, rateLimit } from '@tollgate/express'
import express from 'express'

const { store, close } = makeStore()
const limiter = createLimiter({
  store,
  plans: { team: '6/min', seat: '4/min', address: '9/min' },
  defaultPlan: 'address',
  deadlineMs,
})
const byAddress = byIp({ plan: 'address' })

const app = express()
app.use((req, res, next) => {
  // In an app of your own: authentication.
  if (req.get('x-org') && req.get('x-user')) next()
  else res.status(401).json({ error: 'who are you? Send x-org and x-user' })
})
app.use(
  rateLimit({
    limiter,
    // An organisation, a user of it, and the client's address: all must have room, or nothing is taken of any.
    identify: (req) => [
      { id: `org:${req.get('x-org')}`, plan: 'team' },
      { id: `user:${req.get('x-user')}`, plan: 'seat', label: 'user' },
      byAddress(req), // called by its plan: address.minute
    ],
  }),
)
app.get('/', (req, res) => {
  const left = req.rateLimit.limits.map(({ name, remaining }) => [name, remaining])
  res.json(Object.fromEntries(left))
})

const server = createServer(app)
const url = await listen(server)
await play({
  url,
  hint: [
    `curl -i ${url}/ -H 'x-org: acme' -H 'x-user: ada'    # the fifth is denied: user.minute`,
    `curl -i ${url}/ -H 'x-org: acme' -H 'x-user: bob'    # then the third: minute, of the organisation`,
    `curl -i ${url}/ -H 'x-org: globex' -H 'x-user: carl' # then the fourth: address.minute`,
  ],
  drive: async () => {
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
  },
  close: async () => {
    server.closeAllConnections()
    server.close()
    await limiter.close()
    await close()
  },
})
