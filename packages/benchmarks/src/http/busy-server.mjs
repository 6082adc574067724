// An application on Express whose every answer takes 5 ms of the processor, in a process of its own:
// node busy-server.mjs SHED STORE REDIS_URL. SHED is yes or no, STORE memory or redis. Sends `{ port }`.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { rateLimit, redisStore } from '@tollgate/express'
import makeApp from 'express'
import { Redis } from 'ioredis'

/** What an answer takes, in ms. */
const WORK_MS = 5
/** Far more than is asked for: the limits deny nobody here. */
const ALL = '1000000/s'

const [shed, store, url] = process.argv.slice(2)
const app = makeApp()
app.use(
  rateLimit({
    plans: { free: ALL, starter: ALL, pro: ALL },
    defaultPlan: 'free',
    identify: (req) => ({ id: req.headers['x-plan'], plan: req.headers['x-plan'] }),
    warnings: false,
    deadlineMs: 10_000,
    ...(shed === 'yes' && { shed: ['free', 'starter'] }),
    ...(store === 'redis' && {
      store: redisStore(new Redis(url, { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })),
    }),
  }),
)
app.get('/', (_req, res) => {
  const until = performance.now() + WORK_MS
  while (performance.now() < until);
  res.json({ hello: 'world' })
})
const server = createServer(app).listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('disconnect', () => process.exit(0))
process.send({ port: server.address().port })
