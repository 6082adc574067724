import { eventually } from '../eventually.ts'
import { ask } from './admin.ts'
import { startRedis, type RedisServer } from './server.ts'

export interface RedisSentinel {
  /** The sentinels' name for the primary. */
  readonly name: string
  /** The sentinels' addresses, in the form of ioredis. */
  readonly sentinels: readonly { readonly host: string; readonly port: number }[]
  /** First the node that began as primary, then its replica. */
  readonly nodes: readonly RedisServer[]
  /** The node that sentinels tell clients to use. */
  primary(): Promise<RedisServer>
  /** Kills the primary at once. Does not wait for the failover: use `whenFailedOver`. */
  killPrimary(): Promise<RedisServer>
  /** Makes the primary hang. When it is resumed later, the sentinels make it a replica. */
  pausePrimary(): Promise<RedisServer>
  /** Resolves once every sentinel names a primary other than `from`, and that one takes writes. */
  whenFailedOver(from: RedisServer): Promise<void>
  stop(): Promise<void>
}

export interface SentinelOptions {
  readonly name?: string
  /** A primary that is silent for this long counts as dead, in ms; a failover takes 1 to 2 s more. */
  readonly downAfterMs?: number
}

const SENTINELS = 3
const QUORUM = 2

/** Starts a real primary, its replica and three sentinels on 127.0.0.1. */
export async function startSentinel(options: SentinelOptions = {}): Promise<RedisSentinel> {
  const { name = 'tollgate', downAfterMs = 500 } = options
  const servers: RedisServer[] = []
  const start = async (given: Parameters<typeof startRedis>[0]): Promise<RedisServer> => {
    const server = await startRedis(given)
    servers.push(server)
    return server
  }
  const stop = async (): Promise<void> => void (await Promise.all(servers.map((server) => server.kill())))
  try {
    const first = await start({ args: ['--repl-diskless-sync-delay', '0'] })
    const args = ['--replicaof', '127.0.0.1', String(first.port), '--repl-diskless-sync-delay', '0']
    const nodes = [first, await start({ args })]
    const watch = { name, port: first.port, downAfterMs }
    const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => startOne(start, watch)))
    await whenWatched(sentinels, name)
    return { ...sentinelOf(name, nodes, sentinels), stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startOne(
  start: typeof startRedis,
  { name, port, downAfterMs }: { name: string; port: number; downAfterMs: number },
): Promise<RedisServer> {
  const lines = [
    `sentinel monitor ${name} 127.0.0.1 ${port} ${QUORUM}`,
    `sentinel down-after-milliseconds ${name} ${downAfterMs}`,
    // After a failed failover, the sentinels wait twice this long before the next one, in ms.
    `sentinel failover-timeout ${name} 5000`,
  ]
  return start({ config: `${lines.join('\n')}\n`, args: ['--sentinel'] })
}

/** Waits until the sentinels know each other and the replica: no failover works before. */
async function whenWatched(sentinels: readonly RedisServer[], name: string): Promise<void> {
  await eventually(async () => {
    const seen = await Promise.all(
      sentinels.map(async ({ port }) => [
        ((await ask(port, 'SENTINEL', 'SENTINELS', name)) as unknown[]).length,
        await replicasThatAreUp(port, name),
      ]),
    )
    return seen.every(([others, replicas]) => others === SENTINELS - 1 && replicas === 1)
  }, 'all sentinels know each other and the replica')
}

async function replicasThatAreUp(port: number, name: string): Promise<number> {
  const replicas = (await ask(port, 'SENTINEL', 'REPLICAS', name)) as string[][]
  return replicas.filter(
    (fields) => valueOf(fields, 'master-link-status') === 'ok' && valueOf(fields, 'flags') === 'slave',
  ).length
}

/** The value of a name in a flat list of names and values. */
function valueOf(fields: readonly string[], name: string): string | undefined {
  return fields[fields.indexOf(name) + 1]
}

function sentinelOf(
  name: string,
  nodes: readonly RedisServer[],
  sentinels: readonly RedisServer[],
): Omit<RedisSentinel, 'stop'> {
  const portBy = async (sentinel: RedisServer): Promise<number> =>
    Number(((await ask(sentinel.port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)) as string[])[1])
  const primary = async (): Promise<RedisServer> => {
    const port = await portBy(sentinels[0] as RedisServer)
    return nodes.find((node) => node.port === port) as RedisServer
  }
  return {
    name,
    nodes,
    sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
    primary,
    killPrimary: async () => {
      const dead = await primary()
      await dead.kill()
      return dead
    },
    pausePrimary: async () => {
      const hung = await primary()
      hung.pause()
      return hung
    },
    whenFailedOver: (from) =>
      eventually(async () => {
        const ports = await Promise.all(sentinels.map(portBy))
        if (!ports.every((port) => port !== from.port && port === ports[0])) return false
        return String(await ask(ports[0] as number, 'INFO', 'replication')).includes('role:master')
      }, 'the sentinels have made the replica the primary'),
  }
}
