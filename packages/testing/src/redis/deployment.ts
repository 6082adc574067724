import { Redis } from 'ioredis'
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

/** Sets the password of servers that have just started: before, whether they have is asked without one. */
export async function protect(ports: readonly number[], { password }: DeploymentOptions): Promise<void> {
  if (password === undefined) return
  for (const port of ports) {
    const operator = operatorOf(port, {})
    await operator.config('SET', 'requirepass', password)
    operator.disconnect()
  }
}

export function operatorOf(port: number, { password }: DeploymentOptions): Redis {
  const settings = { retryStrategy: () => 50, maxRetriesPerRequest: null, disconnectTimeout: 100 }
  const operator = new Redis(port, '127.0.0.1', password === undefined ? settings : { ...settings, password })
  operator.on('error', () => {})
  return operator
}
