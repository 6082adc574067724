// A limiter in a process of its own, under steady load without HTTP. Reports to its parent what it allowed.
import { createLimiter, redisStore, type PlanInput } from '@tollgate/core'
import { eventually } from '@tollgate/testing/redis'
import { connect } from '../app/client.mjs'
import { now } from '../load.ts'
import { DEADLINE_MS } from '../settings.ts'
import { PLANS, SOAK_TENANTS } from './plans.ts'
import { Random } from '@tollgate/testing/random'
import type { Batch, WorkerOptions } from './worker-process.ts'

const TICK_MS = 10
const TELLS_EVERY_MS = 200
/** With more requests pending, the load would be too much for any limiter. */
const MOST_UNDER_WAY = 1000

const options = JSON.parse(process.argv[2] ?? '') as WorkerOptions
const client = await connect({ module: options.client, port: options.port })
const plans: Record<string, PlanInput> = {}
for (const [name, { limits }] of Object.entries(PLANS)) plans[name] = limits
const limiter = createLimiter({
  plans,
  defaultPlan: 'log',
  store: redisStore(client),
  onStoreFailure: options.policy,
  local: { instances: options.instances },
  deadlineMs: DEADLINE_MS,
})
const random = new Random(options.seed)
let underWay = 0
let batch = newBatch()

const started = performance.now()
let sent = 0
const load = setInterval(() => {
  const due = ((performance.now() - started) / 1000) * options.perSecond
  for (; sent < due; sent += 1) {
    if (underWay < MOST_UNDER_WAY) void consume()
    else batch.skipped += 1
  }
}, TICK_MS)
const telling = setInterval(tell, TELLS_EVERY_MS)
process.on('message', stop)
process.on('disconnect', () => process.exit(1))

async function consume(): Promise<void> {
  // Squared, so that the first tenants get most requests.
  const tenant = Math.floor(random.next() ** 2 * SOAK_TENANTS.length)
  const from = now()
  underWay += 1
  try {
    const { allowed, source } = await limiter.consume(SOAK_TENANTS[tenant] ?? 'nobody')
    const to = now()
    batch.slowestMs = Math.max(batch.slowestMs, to - from)
    batch.bySource[source] = (batch.bySource[source] ?? 0) + 1
    if (allowed) batch.letIn.push([tenant, from, to, source])
  } catch (error) {
    batch.thrown.push(String(error))
  } finally {
    underWay -= 1
  }
}

function tell(): void {
  process.send?.({ ...batch, underWay, rss: process.memoryUsage.rss() })
  batch = newBatch()
}

function newBatch(): Batch {
  return { letIn: [], bySource: {}, slowestMs: 0, skipped: 0, thrown: [], underWay: 0, rss: 0 }
}

async function stop(): Promise<void> {
  clearInterval(load)
  await eventually(() => underWay === 0).catch(() => {})
  clearInterval(telling)
  tell()
  await limiter.close()
  client.disconnect()
  process.removeAllListeners('disconnect')
  process.disconnect()
}
