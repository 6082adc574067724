import { createServer } from 'node:http'
import { listen } from '@tollgate/example-kit'
import { makeLimiter, places, playSaas, refundWhen, tenantOf } from '@tollgate/example-kit/saas'
import { byIp, rateLimit } from '@tollgate/express'
import express from 'express'

const { limiter, close } = makeLimiter()
const limit = (place) => rateLimit({ limiter, identify: (req) => req.tenant, refundWhen, ...place })

const app = express()
app.get('/health', (_req, res) => res.send('ok'))
// By address first, so that guessing keys is limited, too; then by tenant.
app.use(rateLimit({ limiter, identify: byIp(), ...places.guard }))
app.use((req, res, next) => {
  req.tenant = tenantOf(req.get('x-api-key'))
  if (req.tenant) next()
  else res.status(401).json({ error: 'unknown key' })
})
app.get('/items', limit(), (_req, res) => res.json({ items: [] }))
app.get('/search', limit(places.search), (_req, res) => res.json({ found: 0 }))
app.post('/export', limit(places.export), (_req, res) => res.json({ exported: true }))
app.get('/flaky', limit(), (_req, res) => res.status(500).json({ error: 'not your fault' }))
app.get('/whoami', limit(), (req, res) => res.json(req.rateLimit))

const server = createServer(app)
await playSaas(await listen(server), async () => {
  server.closeAllConnections()
  server.close()
  await close()
})
