// An API whose counts stand in a file of SQLite. All processes of this machine that open the file count together.
// To copy, with sql-store.js, counting.js, rows.js and sqlite.js: npm install @tollgate/express express libsql
import { createLimiter, rateLimit } from '@tollgate/express'
import express from 'express'
import { createTable, sqlStore } from './sql-store.js'
import { sqlite } from './sqlite.js'

const { PORT = '3000', DATABASE = 'counts.db', DEADLINE_MS = '500' } = process.env

const db = sqlite(DATABASE)
await createTable(db)

export const limiter = createLimiter({
  // With PostgreSQL, by postgres.js: sqlStore(postgres(new pg.Pool({ connectionString: process.env.DATABASE_URL })))
  store: sqlStore(db),
  plans: { free: '5/min', pro: ['100/s', '100000/month', '20 concurrent'] },
  defaultPlan: 'free',
  deadlineMs: Number(DEADLINE_MS),
})

// In an app of your own: a look-up in your database. An unknown key is nobody, and counts by the client's address.
const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-initech', { id: 'initech', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
])

const app = express()
app.use(rateLimit({ limiter, identify: (req) => tenants.get(req.get('x-api-key') ?? '') }))
app.get('/', (req, res) => res.json({ plan: req.rateLimit.plan, limits: req.rateLimit.limits }))

export const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** In this order: what is under way is answered, then nothing needs the database any more. */
export async function close() {
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  db.close()
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
