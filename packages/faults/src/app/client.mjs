/**
 * Makes an ioredis client with the settings that docs/redis.md recommends.
 *
 * @typedef {{ host: string, port: number }} Address
 * @param {{ module: string, port?: number, nodes?: Address[], sentinels?: Address[], name?: string }} options
 */
export async function connect({ module, ...target }) {
  const client = make(await import(module), target)
  client.on('error', () => {})
  return client
}

function make({ Cluster, Redis }, { port, nodes, sentinels, name }) {
  // ioredis's disconnect timer outlives the connection: with its default it would keep the process running for 2 s.
  const options = { autoResendUnfulfilledCommands: false, retryStrategy, disconnectTimeout: 100 }
  if (nodes) {
    const refresh = { clusterRetryStrategy: retryStrategy, slotsRefreshTimeout: 1000 }
    return new Cluster(nodes, { ...refresh, redisOptions: options })
  }
  if (sentinels) return new Redis({ ...options, sentinels, name, sentinelRetryStrategy: retryStrategy })
  return new Redis(port, '127.0.0.1', options)
}

/** Waits at most 250 ms. ioredis's default waits up to 2 s, and the limiter would use Redis again that much later. */
function retryStrategy(times) {
  return Math.min(times * 50, 250)
}
