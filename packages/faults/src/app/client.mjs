/**
 * A client with the settings that docs/stores-and-failures.md asks for.
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
  // ioredis would keep a timer of 2 s after the connection, which keeps the process alive.
  const options = { autoResendUnfulfilledCommands: false, retryStrategy, disconnectTimeout: 100 }
  if (nodes) {
    const refresh = { clusterRetryStrategy: retryStrategy, slotsRefreshTimeout: 1000 }
    return new Cluster(nodes, { ...refresh, redisOptions: options })
  }
  if (sentinels) return new Redis({ ...options, sentinels, name, sentinelRetryStrategy: retryStrategy })
  return new Redis(port, '127.0.0.1', options)
}

/** ioredis's own delay grows to 2 s, and a limiter would be back as much later. */
function retryStrategy(times) {
  return Math.min(times * 50, 250)
}
