import { Redis } from 'ioredis'
import { startCluster } from './cluster.ts'
import { startRedis, type RedisServer } from './server.ts'

/** Servers that tests may break, seen as one: a server alone, or a cluster of them. */
export interface Deployment {
  readonly ports: readonly number[]
  /** A connection to each server, for what an operator does. */
  readonly operators: readonly Redis[]
  /** As a crash would: at once. */
  kill(): Promise<void>
  /** Where they were before they were killed, with nothing in them. */
  restart(): Promise<void>
  /** Makes them hang until `resume`. */
  pause(): void
  resume(): void
  end(): Promise<void>
}

export interface DeploymentOptions {
  readonly password?: string | undefined
}

/** One server, alone. */
export async function deployOne(options: DeploymentOptions = {}): Promise<Deployment> {
  let server: RedisServer = await startRedis()
  await protect([server.port], options)
  const operator = operatorOf(server.port, options)
  return {
    ports: [server.port],
    operators: [operator],
    kill: () => server.kill(),
    restart: async () => {
      server = await startRedis({ port: server.port })
      await protect([server.port], options)
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    end: async () => {
      operator.disconnect()
      server.resume()
      await server.kill()
    },
  }
}

/** Three primaries without replicas, each with a third of the slots. */
export async function deployCluster(options: DeploymentOptions = {}): Promise<Deployment> {
  // Nothing fails over, so nobody has to be taken for dead soon: a busy machine makes nodes silent for a while.
  const cluster = await startCluster({ replicas: 0, nodeTimeoutMs: 5000 })
  const { nodes } = cluster
  const ports = nodes.map(({ port }) => port)
  await protect(ports, options)
  const operators = ports.map((port) => operatorOf(port, options))
  return {
    ports,
    operators,
    kill: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
    restart: async () => {
      await cluster.restart()
      await protect(ports, options)
    },
    pause: () => nodes.forEach((node) => node.pause()),
    resume: () => nodes.forEach((node) => node.resume()),
    end: async () => {
      operators.forEach((operator) => operator.disconnect())
      await cluster.stop()
    },
  }
}

/** Sets the password of servers that have just started: before, whether they have is asked without one. */
async function protect(ports: readonly number[], { password }: DeploymentOptions): Promise<void> {
  if (password === undefined) return
  for (const port of ports) {
    const operator = operatorOf(port, {})
    await operator.config('SET', 'requirepass', password)
    operator.disconnect()
  }
}

function operatorOf(port: number, { password }: DeploymentOptions): Redis {
  const settings = { retryStrategy: () => 50, maxRetriesPerRequest: null, disconnectTimeout: 100 }
  const operator = new Redis(port, '127.0.0.1', password === undefined ? settings : { ...settings, password })
  operator.on('error', () => {})
  return operator
}
