// Three primaries without replicas, each with a third of the slots, which know each other again after a restart.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  freePort,
  operatorOf,
  protect,
  startRedis,
  type Deployment,
  type DeploymentOptions,
  type RedisServer,
} from '@tollgate/testing'
import type { Redis } from 'ioredis'

const RANGES = ['0 5460', '5461 10922', '10923 16383']
const SETTLED_WITHIN_MS = 20_000

export async function deployCluster(options: DeploymentOptions = {}): Promise<Deployment> {
  const folders = RANGES.map(() => mkdtempSync(join(tmpdir(), 'tollgate-cluster-')))
  const ports: number[] = []
  for (const _ of RANGES) ports.push(await freeClusterPort())
  const start = (port: number, i: number): Promise<RedisServer> =>
    startRedis({ port, args: argsOf(folders[i] as string) })
  let servers = await Promise.all(ports.map(start))
  await protect(ports, options)
  const operators = ports.map((port) => operatorOf(port, options))
  await meet(ports, operators)
  return {
    ports,
    operators,
    kill: async () => void (await Promise.all(servers.map((server) => server.kill()))),
    restart: async () => {
      servers = await Promise.all(ports.map(start))
      await protect(ports, options)
      await settled(operators)
    },
    pause: () => servers.forEach((server) => server.pause()),
    resume: () => servers.forEach((server) => server.resume()),
    end: async () => {
      operators.forEach((operator) => operator.disconnect())
      await Promise.all(servers.map((server) => server.kill()))
      folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }))
    },
  }
}

function argsOf(folder: string): string[] {
  return ['--dir', folder, '--cluster-enabled', 'yes', '--cluster-node-timeout', '2000']
}

/** The port of the cluster's own talk is 10000 above. */
async function freeClusterPort(): Promise<number> {
  const port = await freePort()
  return port + 10_000 <= 65_535 ? port : freeClusterPort()
}

async function meet(ports: readonly number[], operators: readonly Redis[]): Promise<void> {
  for (const [i, operator] of operators.entries()) {
    await operator.call('CLUSTER', 'ADDSLOTSRANGE', ...(RANGES[i] as string).split(' '))
  }
  for (const port of ports.slice(1)) await operators[0]?.call('CLUSTER', 'MEET', '127.0.0.1', port)
  await settled(operators)
}

/** Every server knows all, and that all slots are served. */
async function settled(operators: readonly Redis[]): Promise<void> {
  for (const until = Date.now() + SETTLED_WITHIN_MS; Date.now() < until; await sleep(50)) {
    const infos = await Promise.all(operators.map((operator) => operator.call('CLUSTER', 'INFO')))
    const isSettled = (info: unknown): boolean =>
      /cluster_state:ok[^]*cluster_known_nodes:3[^]*cluster_size:3/.test(String(info))
    if (infos.every(isSettled)) return
  }
  throw new Error('the cluster did not settle')
}
