// One of several processes of the same API. They share nothing but the Redis.
import { byHeader, rateLimit, redisStore } from '@tollgate/express'
import express from 'express'
import { Redis } from 'ioredis'

const redis = new Redis(process.env.REDIS_URL, { autoResendUnfulfilledCommands: false })

const app = express()
app.use(
  rateLimit({
    limit: '100/min',
    identify: byHeader('x-api-key'),
    store: redisStore(redis),
    onStoreFailure: 'closed',
  }),
)
app.get('/', (_req, res) => {
  res.json({ pid: process.pid })
})
const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
