/**
 * A client with the settings that docs/operations/redis.md asks for.
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
  // With its default, ioredis's disconnect timer would keep the process alive for 2 s after the connection is closed.
  const options = { autoResendUnfulfilledCommands: false, retryStrategy, disconnectTimeout: 100 }
  if (nodes) {
    const once = { retryDelayOnFailover: 0, enableOfflineQueue: false }
    return new Cluster(nodes, { ...once, clusterRetryStrategy: retryStrategy, redisOptions: options })
  }
  if (sentinels) return new Redis({ ...options, sentinels, name, failoverDetector: true })
  return new Redis(port, '127.0.0.1', options)
}

/** ioredis's own delay grows to 5 s, and a limiter would be back as much later. */
function retryStrategy(times) {
  return Math.min(times * 50, 250)
}
