// A process that decides with and without leases: node lease-worker.mjs REDIS_URL. Answers each message with its decisions.
import { memoryStore, redisStore } from '@tollgate/core'
import { Redis } from 'ioredis'
import { leasing } from '../../kit/contenders.mjs'
import { closedLoop, MODES } from '../../kit/load.mjs'
import { fullSpeed, steady } from '../../kit/steady-load.mjs'
import { timed } from '../../kit/rounds.mjs'
import * as names from '../../names.mjs'
import { answerMessages } from '../../kit/children.mjs'

/** So large that nobody is denied. */
const LIMITS = [{ quota: 1_000_000_000, window: 'min', algorithm: 'token-bucket' }]

const client = new Redis(process.argv[2], { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 })
const onRedis = (prefix, lease) => leasing(redisStore(client, { prefix }), LIMITS, lease)
const contenders = {
  [names.UNLEASED]: onRedis('bench-a', false),
  [names.UNLEASED_AGAIN]: onRedis('bench-b', false),
  [names.LEASED]: onRedis('bench-c', true),
  [names.MEMORY]: leasing(memoryStore(), LIMITS, false),
}
contenders[names.MEMORY_AGAIN] = contenders[names.MEMORY]

let granted = 0
contenders[names.LEASED].limiter.on('lease', ({ kind }) => {
  if (kind === 'granted') granted += 1
})

/** How many tenants are asked for in turn, by the name of the load. */
const CROWDS = { hot: 1, several: 256 }

/** Without `crowd` 10 000 tenants; without a rate as fast as it goes. */
async function load({ name, crowd, rate, isLone, ms }) {
  const count = CROWDS[crowd]
  const idOf = count ? (i) => `hot-${i % count}` : MODES.allowed.idOf()
  const contender = contenders[name]
  const before = granted
  const { result, wallUs, nodeUs } = await timed(() => {
    if (isLone) return closedLoop(contender, idOf, { inFlight: 1, ms })
    return rate === undefined ? fullSpeed(contender, idOf, ms) : steady(contender, idOf, { rate, ms })
  })
  return { ...result, wallUs, nodeUs, granted: granted - before }
}

await client.ping()
answerMessages(load, {})
