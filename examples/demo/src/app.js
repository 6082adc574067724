// The API: what you would write in an app of your own.
import { byHeader, rateLimit } from '@tollgate/express'
import express from 'express'

/** The plans on sale. A minute of the demo is shorter than a real one, so that a seam is seen in seconds. */
export function plans(minuteMs) {
  const minute = (quota) => ({ quota, window: minuteMs, name: 'minute' })
  return {
    free: minute(100),
    starter: minute(3000),
    pro: ['50/s burst 100', minute(20_000), '5000000/month'],
  }
}

/** Keys look like `pro-acme`: in an app of your own the plan of a key comes from your database. */
function planOf(key) {
  return key.split('-').find((part) => ['free', 'starter', 'pro'].includes(part))
}

/** @param limiter from createLimiter, so that the demo can show its events and close it */
export function createApp(limiter, { trustProxy = false } = {}) {
  const app = express()
  app.disable('x-powered-by')
  if (trustProxy) app.set('trust proxy', 1)

  app.use(
    rateLimit({
      limiter,
      identify: byHeader('x-api-key', { plan: planOf }),
      cost: (req) => (req.path === '/report' ? 60 : 1),
    }),
  )
  app.get('/', (req, res) => {
    res.json({
      hello: req.get('x-api-key') ?? req.ip,
      plan: req.rateLimit.plan,
      limits: req.rateLimit.limits,
    })
  })
  app.get('/report', (_req, res) => {
    res.json({ report: 'this one costs 60 units' })
  })
  return app
}

/** The same API behind a fixed-window counter, to see what it lets through. */
export function createFixedWindowApp(minuteMs) {
  const app = express()
  const limit = { quota: 100, window: minuteMs, algorithm: 'fixed-window', name: 'minute' }
  app.use(rateLimit({ limit, identify: byHeader('x-api-key') }))
  app.get('/', (_req, res) => {
    res.json({ hello: 'from behind a fixed window' })
  })
  return app
}
