// Runs a single contender for a profiler: node --cpu-prof src/profile.mjs 'Tollgate: token bucket' 512 5
import { everybody, openClients } from './kit/field.mjs'
import { closedLoop, MODES } from './kit/load.mjs'
import { exitOnSignals, startRedis } from './kit/redis.mjs'
import { timed } from './kit/rounds.mjs'
import { BUCKET } from './names.mjs'

const LONGEST_SECONDS = 60
const [name = BUCKET, inFlight = '64', seconds = '5'] = process.argv.slice(2)

exitOnSignals()
const redis = await startRedis()
const clients = await openClients(redis.url)
const contenders = await everybody(clients)
const contender = contenders.get(name)
if (!contender) throw new Error(`No contender ${name}. There are: ${[...contenders.keys()].join(', ')}`)

let decisions = 0
let cpuUs = 0
const until = performance.now() + 1000 * Math.min(Number(seconds), LONGEST_SECONDS)
// The database is emptied between loops, like in the benchmark: else quotas would be used up.
while (performance.now() < until) {
  const load = { inFlight: Number(inFlight), ms: 300 }
  const { result, nodeUs } = await timed(() => closedLoop(contender, MODES.allowed.idOf(), load))
  decisions += result.decisions
  cpuUs += nodeUs
  await clients.client.flushdb()
}
const each = (cpuUs / decisions).toFixed(2)
process.stdout.write(`${name}, ${inFlight} in flight: ${decisions} decisions, ${each} µs of Node each\n`)
clients.close()
redis.stop()
