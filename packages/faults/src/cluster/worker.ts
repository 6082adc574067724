// A limiter on a cluster in a process of its own, under steady load. Reports to its parent what it allowed.
import { createLimiter, redisStore } from '@tollgate/core'
import { now } from '../load.ts'
import { Random } from '@tollgate/testing/random'
import { drawRequest, EXPORT_ROUTE, nameOf, PLANS, subjectOf } from './subjects.ts'
import { connectCluster } from './place.ts'
import type { Batch, WorkerOptions } from './worker-options.ts'

const TICK_MS = 10
const TELLS_EVERY_MS = 200
/** Within this time, in ms, failed refunds and charges are repeated and done. */
const QUIET_MS = 4000

const { nodes, policy, processes, seed, perSecond, deadlineMs } = JSON.parse(
  process.argv[2] ?? '',
) as WorkerOptions
const client = connectCluster(nodes)
const limiter = createLimiter({
  plans: PLANS,
  defaultPlan: 'user',
  store: redisStore(client),
  onStoreFailure: policy,
  local: { instances: processes },
  deadlineMs,
})
const exportRoute = limiter.scope(EXPORT_ROUTE)
const random = new Random(seed)
let batch = newBatch()

const started = performance.now()
let sent = 0
const load = setInterval(() => {
  const due = ((performance.now() - started) / 1000) * perSecond
  for (; sent < due; sent += 1) void consume()
}, TICK_MS)
const telling = setInterval(tell, TELLS_EVERY_MS)
limiter.on('storeError', ({ reason }) => {
  batch.storeErrors[reason] = (batch.storeErrors[reason] ?? 0) + 1
})
limiter.on('reconciliation', ({ units, dropped }) => {
  batch.charged += units
  batch.dropped += dropped
})
process.on('message', stop)
process.on('disconnect', () => process.exit(1))

async function consume(): Promise<void> {
  const asked = drawRequest(() => random.next())
  const { organisation, user, isExport } = asked
  const subjects = [
    subjectOf({ kind: 'organisation', organisation }),
    subjectOf({ kind: 'user', organisation, user }),
  ]
  const from = now()
  try {
    const { allowed, source } = await (isExport ? exportRoute : limiter).consume(subjects)
    if (allowed) batch.allowed.push({ ...asked, from, to: now(), source })
    const answer = `${source} ${allowed ? 'allowed' : 'denied'}`
    batch.answers[answer] = (batch.answers[answer] ?? 0) + 1
  } catch (error) {
    batch.thrown.push(`${nameOf({ kind: 'organisation', organisation })}: ${String(error)}`)
  }
}

function tell(): void {
  process.send?.(batch)
  batch = newBatch()
}

function newBatch(): Batch {
  return { allowed: [], answers: {}, storeErrors: {}, thrown: [], charged: 0, dropped: 0 }
}

async function stop(): Promise<void> {
  clearInterval(load)
  await new Promise((resolve) => setTimeout(resolve, QUIET_MS))
  await limiter.close()
  clearInterval(telling)
  tell()
  client.disconnect()
  process.removeAllListeners('disconnect')
  process.disconnect()
}
