// Runs a single contender for a profiler: node --cpu-prof src/profile.mjs token-bucket 512 5
import { Redis } from 'ioredis'
import { createContenders } from './contenders.mjs'
import { closedLoop } from './load.mjs'
import { startRedis } from './redis.mjs'

const LONGEST_SECONDS = 60
const [name = 'token-bucket', inFlight = '64', seconds = '5'] = process.argv.slice(2)

const redis = await startRedis()
const client = new Redis(redis.url, { autoResendUnfulfilledCommands: false })
const contenders = createContenders(client)
const contender = contenders.get(name)
if (!contender) throw new Error(`No contender ${name}. There are: ${[...contenders.keys()].join(', ')}`)

let decisions = 0
const before = process.cpuUsage()
const until = performance.now() + 1000 * Math.min(Number(seconds), LONGEST_SECONDS)
// The database is emptied between loops, like in the benchmark: else a limit of 100/min would be used up.
while (performance.now() < until) {
  decisions += await closedLoop(contender, Number(inFlight), 300)
  await client.flushdb()
}
const cpu = process.cpuUsage(before)
const nodeUs = (cpu.user + cpu.system) / decisions
process.stdout.write(
  `${name}, ${inFlight} in flight: ${decisions} decisions, ${nodeUs.toFixed(2)} µs of Node each\n`,
)
client.disconnect()
redis.stop()
