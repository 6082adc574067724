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
  /** Sets the password of all servers, or with '' removes it. Connected clients stay; `restart` forgets it. */
  setPassword(password: string): Promise<void>
  /** Sends one command to each server, as its operator. */
  order(...command: readonly [string, ...(string | number)[]]): Promise<void>
  /** Cuts the connections of all clients but the operators. */
  cutOff(): Promise<void>
  end(): Promise<void>
}

/** A single server. */
export async function deployOne(): Promise<Deployment> {
  let server: RedisServer = await startRedis()
  const operator = operatorOf(server.port)
  return {
    ports: [server.port],
    operators: [operator],
    kill: () => server.kill(),
    restart: async () => {
      server = await startRedis({ port: server.port })
    },
    pause: () => server.pause(),
    resume: () => server.resume(),
    ...ordersOf([operator]),
    end: async () => {
      operator.disconnect()
      server.resume()
      await server.kill()
    },
  }
}

/** Starts a cluster of three primaries without replicas, each with a third of the slots. */
export async function deployCluster(): Promise<Deployment> {
  // A long timeout: there is no failover to wait for, and a busy machine can make nodes silent for a while.
  const cluster = await startCluster({ replicas: 0, nodeTimeoutMs: 30_000 })
  const { nodes } = cluster
  const ports = nodes.map(({ port }) => port)
  const operators = ports.map(operatorOf)
  return {
    ports,
    operators,
    kill: async () => void (await Promise.all(nodes.map((node) => node.kill()))),
    restart: () => cluster.restart(),
    pause: () => nodes.forEach((node) => node.pause()),
    resume: () => nodes.forEach((node) => node.resume()),
    ...ordersOf(operators),
    end: async () => {
      operators.forEach((operator) => operator.disconnect())
      await cluster.stop()
    },
  }
}

function ordersOf(operators: readonly Redis[]): Pick<Deployment, 'setPassword' | 'order' | 'cutOff'> {
  const order: Deployment['order'] = async (name, ...args) =>
    void (await Promise.all(operators.map((operator) => operator.call(name, ...args))))
  return {
    order,
    setPassword: (password) => order('CONFIG', 'SET', 'requirepass', password),
    cutOff: () => order('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'),
  }
}

function operatorOf(port: number): Redis {
  const operator = new Redis(port, '127.0.0.1', {
    retryStrategy: () => 50,
    maxRetriesPerRequest: null,
    disconnectTimeout: 100,
  })
  operator.on('error', () => {})
  return operator
}
