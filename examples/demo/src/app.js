// The API: what you would write in an app of your own.
import { hostname } from 'node:os'
import { rateLimit } from '@tollgate/express'
import express from 'express'

/** What is on sale. A minute of the demo is shorter than a real one, so that its seam is seen in seconds. */
export function plans(minuteMs) {
  const minute = (quota) => ({ quota, window: minuteMs, name: 'minute' })
  return {
    free: minute(100),
    starter: minute(300),
    pro: ['50/s burst 100', '5000000/month'],
  }
}

/**
 * @param limiter from createLimiter, made outside so that the demo can hear its events and close it
 * @param tenants `{ id, plan }` by API key: in an app of your own a look-up in your database
 * @param dashboard handlers for the dashboard, in their order
 */
export function createApp({ limiter, tenants, trustProxy = false, dashboard = [] }) {
  const app = express()
  app.disable('x-powered-by')
  app.set('trust proxy', trustProxy)
  app.use((_req, res, next) => {
    res.set('X-Served-By', `${hostname()}:${process.pid}`)
    next()
  })
  // Above the limiter: health checks count against nobody.
  app.get('/health', (_req, res) => res.json({ ok: true }))

  // Above it, too: operators are no customers.
  if (dashboard.length > 0) app.use('/_tollgate', ...dashboard)

  const limit = rateLimit({
    limiter,
    // Nobody for an unknown key: made-up keys count by the client's address, on the default plan.
    identify: (req) => tenants.get(req.get('x-api-key')),
  })
  // Said at the route, and not by its path, which clients can write in several ways. Such routes go above the limiter.
  app.get('/report', limit.route({ cost: 60 }), (req, res) => {
    res.json({ report: `this one costs ${req.rateLimit.cost} units` })
  })
  app.use(limit)
  app.get('/', (req, res) => {
    const { subject, plan, limits } = req.rateLimit
    res.json({ hello: subject.id, plan, limits })
  })
  return app
}

/** An API behind the counter that most limiters use, to see what that one lets through. */
export function createFixedWindowApp({ quota, windowMs, tenants }) {
  const app = express()
  const limit = { quota, window: windowMs, algorithm: 'fixed-window' }
  app.use(rateLimit({ limit, identify: (req) => tenants.get(req.get('x-api-key'))?.id }))
  app.get('/', (_req, res) => res.json({ hello: 'from behind a fixed window' }))
  return app
}
