import { Redis } from 'ioredis'
import { startCluster } from './cluster.ts'
import { startRedis, type RedisServer } from './server.ts'

/** Servers that tests may break: a single server, or all nodes of a cluster. */
export interface Deployment {
  readonly ports: readonly number[]
  /** A connection to each server, for commands of an operator. */
  readonly operators: readonly Redis[]
  /** Kills all servers at once, like a crash. */
  kill(): Promise<void>
  /** Starts killed servers again on the same ports, empty. */
  restart(): Promise<void>
  /** Makes all servers hang until `resume`. */
  pause(): void
  resume(): void
  end(): Promise<void>
}

export interface DeploymentOptions {
  readonly password?: string | undefined
}

/** A single server. */
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

/** Starts a cluster of three primaries without replicas, each with a third of the slots. */
export async function deployCluster(options: DeploymentOptions = {}): Promise<Deployment> {
  // A long timeout: there is no failover to wait for, and a busy machine can make nodes silent for a while.
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

/** Sets the servers' password. Not at their start, since the check whether they have started uses none. */
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
