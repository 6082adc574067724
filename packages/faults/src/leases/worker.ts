// A limiter in a process of its own that asks for one tenant at a steady rate, and notes every request that was let in.
import { createLimiter, redisStore, type Decision } from '@tollgate/core'
import { eventually } from '@tollgate/testing/redis'
import { connect } from '../app/client.mjs'
import { KIND, Recorder } from './record.ts'
import type { Order, WorkerOptions } from './worker-process.ts'

const TICK_MS = 2
/** With more requests pending, the load would be too much for any limiter. */
const MOST_UNDER_WAY = 1000
const TENANT = { id: 'tenant', plan: 'big' } as const

const { port, plan, perSecond, deadlineMs } = JSON.parse(process.argv[2] ?? '') as WorkerOptions
const client = await connect({ module: 'ioredis', port })
const limiter = createLimiter({
  plans: { big: plan },
  store: redisStore(client),
  onStoreFailure: 'closed',
  deadlineMs,
})
const recorder = new Recorder()
let zero = 0n
let underWay = 0
let wasDenied = false
let load: NodeJS.Timeout | undefined
/** What follows once the parent has the record, which takes a while to get there. */
let whenHeard = (): void => {}
const told = { decisions: 0, leased: 0, skipped: 0, thrown: [] as string[] }

/** In µs, by a clock that all processes of the machine share. */
const now = (): number => Number(process.hrtime.bigint() - zero) / 1000

process.on('message', (order: Order) => {
  if (order.do === 'begin') begin(BigInt(order.zero))
  else if (order.do === 'plan') limiter.setPlans({ big: order.plan })
  else if (order.do === 'reset') void limiter.reset(TENANT)
  else if (order.do === 'die') tell(() => process.kill(process.pid, 'SIGKILL'))
  else if (order.do === 'end') void end()
  else whenHeard()
})
process.on('disconnect', () => process.exit(1))
await eventually(async () => (await client.ping()) === 'PONG')
process.send?.('ready')

function begin(at: bigint): void {
  zero = at
  let sent = 0
  const started = performance.now()
  load = setInterval(() => {
    const due = ((performance.now() - started) / 1000) * perSecond
    for (; sent < due; sent += 1) {
      if (underWay < MOST_UNDER_WAY) void consume()
      else told.skipped += 1
    }
  }, TICK_MS)
}

async function consume(): Promise<void> {
  underWay += 1
  const from = now()
  try {
    note(await limiter.consume(TENANT), from)
  } catch (error) {
    if (told.thrown.length < 10) told.thrown.push(String(error))
  } finally {
    underWay -= 1
  }
}

function note({ allowed, source }: Decision, from: number): void {
  const to = now()
  told.decisions += 1
  const isLeased = (source as string) === 'lease'
  if (isLeased) told.leased += 1
  if (allowed) {
    wasDenied = false
    recorder.add(isLeased ? KIND.lease : source === 'store' ? KIND.store : KIND.other, from, to)
  } else if (!wasDenied) {
    wasDenied = true
    recorder.add(KIND.denied, from, to)
  }
}

function tell(then: () => void): void {
  whenHeard = then
  process.send?.({ ...told, numbers: recorder.numbers })
}

async function end(): Promise<void> {
  clearInterval(load)
  await eventually(() => underWay === 0).catch(() => {})
  // The record comes first: what happens at the end of the limiter belongs to no request.
  tell(() => {
    process.removeAllListeners('disconnect')
    void limiter.close().then(() => {
      client.disconnect()
      process.disconnect()
    })
  })
}
