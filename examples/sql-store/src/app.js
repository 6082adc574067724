// An API that counts in a SQLite file. All processes that open the file count together.
// To copy, with sql-store.js, counting.js, rows.js and sqlite.js: npm install @tollgate/express express libsql
import { createLimiter, rateLimit } from '@tollgate/express'
import express from 'express'
import { createTable, sqlStore } from './sql-store.js'
import { sqlite } from './sqlite.js'

const { PORT = '3000', DATABASE = 'counts.db' } = process.env

const db = sqlite(DATABASE)
await createTable(db)

const limiter = createLimiter({
  // With PostgreSQL and postgres.js: sqlStore(postgres(new pg.Pool({ connectionString: process.env.DATABASE_URL })))
  store: sqlStore(db),
  plans: { free: '5/min', pro: ['100/s', '100000/month', '20 concurrent'] },
  defaultPlan: 'free',
  deadlineMs: 500, // a database is slower than Redis
})

// In your app: a look-up in your database. A request with an unknown key counts against the client's address.
const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-initech', { id: 'initech', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])

const app = express()
app.use(rateLimit({ limiter, identify: (req) => tenants.get(req.get('x-api-key') ?? '') }))
app.get('/', (req, res) => res.json({ plan: req.rateLimit.plan, limits: req.rateLimit.limits }))

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** The order matters: requests under way are answered, and then the database is not needed. */
async function close() {
  server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  db.close()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
