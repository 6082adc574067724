// Who takes part on one Redis: references, peers and Tollgate, all made for the same load.
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import {
  bareBatches,
  bareScript,
  expressRateLimit,
  fastifyRateLimit,
  flexible,
  flexibleBlock,
  incr,
  koaRateLimit,
  tollgate,
} from './contenders.mjs'
import * as names from '../names.mjs'

const MINUTE_MS = 60_000
/** The quota of every contender in the sections of speed: no key of 10 000 comes near it, a flooded one soon does. */
export const QUOTA = 1000

/** Tollgate's limits by the name of the row. */
export const LIMITS = {
  [names.BUCKET]: { quota: QUOTA, window: 'min', algorithm: 'token-bucket' },
  [names.LOG]: { quota: QUOTA, window: 'min' },
  [names.THREE]: [
    '500/s burst 1000',
    { quota: QUOTA, window: 'min', algorithm: 'sliding-window' },
    '5000000/month',
  ],
}

/** Opens what the contenders need. All clients have their package's defaults, but that nothing is sent twice. */
export async function openClients(url) {
  const settings = { autoResendUnfulfilledCommands: false, retryStrategy: () => 50 }
  const client = new Redis(url, settings)
  const pipelined = new Redis(url, { ...settings, enableAutoPipelining: true })
  const nodeRedis = createClient({ url, disableOfflineQueue: true })
  nodeRedis.on('error', () => {})
  await Promise.all([nodeRedis.connect(), client.ping(), pipelined.ping()])
  const close = () => {
    client.disconnect()
    pipelined.disconnect()
    nodeRedis.destroy()
  }
  return { client, pipelined, nodeRedis, close }
}

/**
 * @returns {Promise<Map<string, import('./contenders.mjs').Contender>>} everybody, references first and last. The very first is the
 * bare script, which none with a script can pass
 */
export async function everybody({ client, pipelined, nodeRedis }) {
  const load = { quota: QUOTA, windowMs: MINUTE_MS }
  const own = Object.entries(LIMITS).map(([name, limit]) => [name, tollgate(client, limit)])
  return new Map([
    [names.SCRIPT, await bareScript(client)],
    [names.INCR, incr(client)],
    ...own,
    [names.BUCKET_NODE_REDIS, tollgate(nodeRedis, LIMITS[names.BUCKET])],
    [names.EXPRESS, expressRateLimit(client, load)],
    [names.FASTIFY, fastifyRateLimit(client, load)],
    [names.KOA, koaRateLimit(client, load)],
    [names.FLEXIBLE, flexible(client, { ...load, prefix: 'rlf' })],
    [names.FLEXIBLE_BLOCK, flexibleBlock(client, { ...load, prefix: 'rlb' })],
    [names.INCR_AGAIN, incr(client)],
    [names.SCRIPT_BATCHES, await bareBatches(client)],
    [names.INCR_PIPELINED, incr(pipelined)],
    [names.INCR_NODE_REDIS, incr(nodeRedis)],
  ])
}

export const only = (all, wanted) => new Map([...all].filter(([name]) => wanted.includes(name)))
