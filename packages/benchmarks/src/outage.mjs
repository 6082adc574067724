// What an outage costs a process that limits requests in flight by address: node --expose-gc src/outage.mjs 100000 ended
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { createLimiter, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { exitOnSignals, startRedis } from './kit/redis.mjs'

/** How long the outage lasts after the last request: some seconds, in which the process looks after its slots. */
const OUTAGE_MS = 4000
const A_TURN = 500
const [addresses = '100000', what = 'ended'] = process.argv.slice(2)
if (!['ended', 'running'].includes(what))
  throw new Error(`The requests have ended, or are running; got ${what}`)

exitOnSignals()
const redis = await startRedis()
if (!redis.pid) throw new Error('It stops its own Redis: leave REDIS_URL out')
const client = new Redis(redis.url, { autoResendUnfulfilledCommands: false })
client.on('error', () => {})
const limiter = createLimiter({
  ...{ limit: '5 concurrent', store: redisStore(client), onStoreFailure: 'open' },
  ...{ local: { instances: 1 }, warnings: false },
})
const states = new Map()
// The first time of each, since the last clear.
limiter.on('breaker', ({ state }) => !states.has(state) && states.set(state, performance.now()))
const until = async (isSo) => {
  while (!(await isSo())) await sleep(1)
}
const heapMb = () => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed / 1e6
}

await until(async () => (await limiter.consume('warm')).source === 'store')
process.kill(redis.pid, 'SIGSTOP')
await until(async () => {
  await limiter.consume('warm')
  return states.has('open')
})

const before = heapMb()
const running = []
for (let i = 0; i < Number(addresses); i += 1) {
  const decision = await limiter.consume(`address-${i}`)
  if (what === 'ended') decision.release()
  else running.push(decision)
  if (i % A_TURN === 0) await nextTurn()
}
const duringOutage = await longestBlock(() => sleep(OUTAGE_MS))
const heap = heapMb() - before
states.clear()
process.kill(redis.pid, 'SIGCONT')
const afterwards = await longestBlock(async () => {
  await until(() => states.has('closed'))
  await sleep(OUTAGE_MS)
})
const halfOpenMs = states.get('closed') - states.get('half-open')
process.stdout.write(
  `${addresses} addresses whose requests are ${what}: ${heap.toFixed(1)} MB kept, event loop blocked for at most ` +
    `${duringOutage.toFixed(0)} ms while Redis does not answer and ${afterwards.toFixed(0)} ms afterwards, ` +
    `half-open for ${halfOpenMs.toFixed(0)} ms\n`,
)
for (const decision of running) decision.release()
await limiter.close()
client.disconnect()
redis.stop()

/** The longest that the event loop was blocked meanwhile, in ms. */
async function longestBlock(work) {
  let longest = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }, 1)
  await work()
  clearInterval(timer)
  return longest
}
