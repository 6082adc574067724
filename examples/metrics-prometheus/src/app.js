// An API whose limiter is on /metrics, as Prometheus reads it, with a readiness probe on /ready.
// To copy: npm install @tollgate/express @tollgate/metrics express ioredis
//          npm install @opentelemetry/api @opentelemetry/sdk-metrics @opentelemetry/exporter-prometheus
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import { instrument } from '@tollgate/metrics'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL, REDIS_PREFIX = 'metrics', DEADLINE_MS = '100' } = process.env

// With a Redis all instances count together; without one each process counts by itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis, { prefix: REDIS_PREFIX }) : memoryStore()
export const limiter = createLimiter({
  store,
  plans: { free: '5/min', pro: ['200/min', '5000/d'] },
  defaultPlan: 'free',
  deadlineMs: Number(DEADLINE_MS),
})

const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
  ['key-of-typo', { id: 'typo', plan: 'por' }], // there is no such plan
])

// Answers on the port of the API, in place of one of its own.
const exporter = new PrometheusExporter({ preventServerStart: true })
const meterProvider = new MeterProvider({ readers: [exporter] })
const { stop } = instrument(limiter, { meterProvider, attributes: { 'tollgate.limiter.name': 'api' } })

const limit = (options) =>
  rateLimit({ limiter, identify: (req) => tenants.get(req.get('x-api-key')), ...options })

const app = express()
// In an app of your own on another port, or behind a firewall.
app.get('/metrics', (req, res) => exporter.getMetricsRequestHandler(req, res))
app.get('/ready', (_req, res) => {
  const { status } = limiter.health()
  // While it is degraded every request still gets an answer, so traffic may come.
  res.status(status === 'closed' ? 503 : 200).json({ limiter: status })
})
app.get('/items', limit(), (_req, res) => res.json({ items: [] }))
app.get('/report', limit({ cost: 10 }), (_req, res) => res.json({ report: true }))

export const server = app.listen(Number(PORT), () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** In this order: what is under way is answered, what is owed is charged, and then nothing needs Redis any more. */
export async function close() {
  server.keepAliveTimeout = 1 // ms; else a client that keeps its connection would hold the process back
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  stop()
  await meterProvider.shutdown()
  redis?.disconnect() // not quit(), which would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
