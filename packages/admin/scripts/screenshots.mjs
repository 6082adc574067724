// Takes the screenshots of the docs: nobody sends requests, then customers of three plans do for two minutes, and then Redis hangs.
import { createServer } from 'node:http'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { dashboard } from '@tollgate/admin'
import { createLimiter, redisStore } from '@tollgate/core'
import { findChromium } from '@tollgate/testing/browser'
import { startRedis } from '@tollgate/testing/redis'
import { Redis } from 'ioredis'
import { chromium } from 'playwright-core'

const FOR_MS = 120_000
const folder = join(import.meta.dirname, '../../../docs/screenshots')
const CUSTOMERS = [
  ...[
    ['acme', 'pro', 31],
    ['globex', 'pro', 44],
    ['initech', 'free', 3],
    ['umbrella', 'starter', 12],
  ],
  ...[
    ['hooli', 'starter', 26],
    ['wonka', 'free', 1],
    ['stark', 'pro', 8],
    ['tyrell', 'free', 2],
  ],
]

const redis = await startRedis()
const client = new Redis(redis.port, '127.0.0.1', {
  ...{ autoResendUnfulfilledCommands: false, retryStrategy: () => 50 },
})
client.on('error', () => {})
const limiter = createLimiter({
  ...{ name: 'shop', defaultPlan: 'free', store: redisStore(client) },
  plans: {
    free: ['100/min', { quota: 20_000, window: 'month' }],
    starter: ['1200/min', { quota: 500_000, window: 'month' }],
    pro: ['50/s burst 100', '3000/min', { quota: 5_000_000, window: 'month', overage: true }],
  },
})
const handler = dashboard(limiter, { authorize: () => ({ by: 'ada' }) })
const server = createServer(handler)
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}/`
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] })

async function open({ width, scheme }) {
  const context = await browser.newContext({
    ...{ viewport: { width, height: 900 }, colorScheme: scheme, reducedMotion: 'reduce' },
    ...{ timezoneId: 'UTC', locale: 'en-GB' },
  })
  const page = await context.newPage()
  await page.goto(url)
  return page
}

/** They ask more and less often, in waves. */
async function sendRequests(untilMs) {
  const owed = CUSTOMERS.map(() => 0)
  for (let lastMs = Date.now(); lastMs < untilMs;) {
    await sleep(50)
    const nowMs = Date.now()
    for (const [i, [id, plan, perSecond]] of CUSTOMERS.entries()) {
      owed[i] += ((nowMs - lastMs) / 1000) * perSecond * (1 + 0.4 * Math.sin(nowMs / 9000 + i))
      for (; owed[i] >= 1; owed[i] -= 1) await limiter.consume({ id, plan })
    }
    lastMs = nowMs
  }
}

mkdirSync(folder, { recursive: true })
const empty = await open({ width: 390, scheme: 'light' })
await empty.getByRole('heading', { name: 'No requests yet' }).waitFor()
await empty.screenshot({ path: join(folder, 'empty.png') })
const wide = await open({ width: 1280, scheme: 'light' })
const sending = sendRequests(Date.now() + FOR_MS)
await sleep(FOR_MS / 2)
await limiter.override('globex', { factor: 2, for: '3d', by: 'grace', reason: 'launch week' })
const customer = await open({ width: 1280, scheme: 'light' })
await customer.goto(`${url}#/customer?id=initech&plan=free`)
const phone = await open({ width: 390, scheme: 'dark' })
await sleep(FOR_MS / 2 - 5000)
await wide.screenshot({ path: join(folder, 'dashboard.png'), fullPage: true })
await customer.screenshot({ path: join(folder, 'customer.png') })
await phone.screenshot({ path: join(folder, 'phone.png') })
await sending
const outage = await open({ width: 1280, scheme: 'dark' })
await outage.getByRole('link', { name: 'acme' }).first().waitFor()
redis.pause()
await limiter.consume({ id: 'acme', plan: 'pro' })
await outage.getByRole('heading', { name: 'The store does not answer' }).waitFor()
await outage.getByText('This process answers by itself').waitFor()
await outage.screenshot({ path: join(folder, 'outage.png') })
redis.resume()
await browser.close()
server.closeAllConnections()
server.close()
await limiter.close()
client.disconnect()
await redis.stop()
