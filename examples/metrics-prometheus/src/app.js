// An API whose limiter is on /metrics, as Prometheus reads it, with a readiness probe on /ready.
// To copy: npm install @tollgate/express @tollgate/metrics express ioredis
//          npm install @opentelemetry/api @opentelemetry/sdk-metrics @opentelemetry/exporter-prometheus
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus'
import { MeterProvider } from '@opentelemetry/sdk-metrics'
import { createLimiter, memoryStore, rateLimit, redisStore } from '@tollgate/express'
import { instrument } from '@tollgate/metrics'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT = '3000', REDIS_URL } = process.env

// With Redis all instances count together. Without it each process counts for itself.
const redis = REDIS_URL
  ? new Redis(REDIS_URL, {
      autoResendUnfulfilledCommands: false, // or a lost connection can count requests twice
      retryStrategy: (times) => Math.min(50 * times, 250), // or Redis is used again only seconds after it is back
    })
  : undefined
const store = redis ? redisStore(redis) : memoryStore()
const limiter = createLimiter({
  name: 'api', // a label of all metrics
  store,
  plans: {
    free: '5/min',
    pro: ['200/min', '5000/month'],
    batch: { limits: '5/s', wait: { maxDelay: '1s' } },
  },
  defaultPlan: 'free',
})

const tenants = new Map([
  ['key-of-acme', { id: 'acme', plan: 'free' }],
  ['key-of-globex', { id: 'globex', plan: 'pro' }],
  ['key-of-initech', { id: 'initech', plan: 'batch' }],
  ['key-of-typo', { id: 'typo', plan: 'por' }], // there is no such plan
])

// The API serves the metrics, so the exporter needs no port of its own.
const exporter = new PrometheusExporter({ preventServerStart: true })
const meterProvider = new MeterProvider({ readers: [exporter] })
const { stop } = instrument(limiter, { meterProvider })

const limit = (options) =>
  rateLimit({ limiter, identify: (req) => tenants.get(req.get('x-api-key')), ...options })

const app = express()
// In your app: on another port, or behind a firewall.
app.get('/metrics', (req, res) => exporter.getMetricsRequestHandler(req, res))
app.get('/ready', (_req, res) => {
  const { status } = limiter.health()
  // While the limiter is degraded it still answers every request, so traffic may come.
  res.status(status === 'closed' ? 503 : 200).json({ limiter: status })
})
app.get('/items', limit(), (_req, res) => res.json({ items: [] }))
app.get('/report', limit({ cost: 10 }), (_req, res) => res.json({ report: true }))

const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`Listening on http://127.0.0.1:${server.address().port}`)
})

/** The order matters: requests under way are answered, then what is owed is charged, and then Redis is not needed. */
async function close() {
  server.keepAliveTimeout = 1 // ms; or a client that keeps its connection open would keep the process alive
  await new Promise((resolve) => server.close(resolve))
  await limiter.close()
  stop()
  await meterProvider.shutdown()
  redis?.disconnect() // quit() would wait for a Redis that hangs
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, close)
