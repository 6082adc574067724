import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eventually } from '../eventually.ts'
import { ask } from './admin.ts'
import { hasSlot, portsWithBus, readNodes, SLOTS, slotsOn, type Seen } from './cluster-nodes.ts'
import { startRedis, type RedisServer } from './server.ts'

export interface ClusterNode extends RedisServer {
  /** Its id in the cluster. */
  readonly id: string
}

export interface RedisCluster {
  /** First the nodes that began as primaries, then their replicas, in the same order. */
  readonly nodes: readonly ClusterNode[]
  /** The node that serves the slot now, as living nodes see it. */
  primaryOf(slot: number): Promise<ClusterNode>
  /**
   * Moves a slot with its keys, like an operator.
   *
   * @param halfway called when half of the keys are moved: Redis answers ASK for those, and TRYAGAIN for both halves
   */
  moveSlot(slot: number, to: ClusterNode, halfway?: () => unknown): Promise<void>
  moveSlots(slots: readonly number[], to: ClusterNode): Promise<void>
  /** Kills the primary of the slot at once. Does not wait for the failover: use `whenOk`. */
  killPrimary(slot?: number): Promise<ClusterNode>
  /** Resolves once every living node reports that all slots are served by living primaries. */
  whenOk(): Promise<void>
  /** Starts all killed nodes again on their ports: still members of the cluster, but without keys. */
  restart(): Promise<void>
  stop(): Promise<void>
}

export interface ClusterOptions {
  readonly primaries?: number
  /** Replicas of each primary. */
  readonly replicas?: number
  /** A node that is silent for this long counts as dead; a failover takes about 1 s more. */
  readonly nodeTimeoutMs?: number
  /** More arguments for each redis-server. */
  readonly args?: readonly string[]
}

const KEYS_AT_ONCE = 100

/** Starts a real cluster on 127.0.0.1. Takes about 2.5 s, of which 2 s are a delay built into Redis. */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { primaries = 3, replicas = 1, nodeTimeoutMs = 1000, args = [] } = options
  const ports = await portsWithBus(primaries * (1 + replicas))
  const settings = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
    // The default of 5 s lets several replicas share one copy.
    ...['--repl-diskless-sync-delay', '0'],
    // A replica becomes visible to clients after its first ping; the default is every 10 s.
    ...['--repl-ping-replica-period', '1'],
    ...args,
  ]
  const cluster = new Cluster(await Promise.all(ports.map((port) => startNode(port, settings))))
  try {
    await cluster.join(primaries)
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

class Cluster implements RedisCluster {
  readonly nodes: readonly Node[]

  constructor(nodes: readonly Node[]) {
    this.nodes = nodes
  }

  /** Joins the new nodes to one cluster. */
  async join(primaries: number): Promise<void> {
    const [first, ...others] = this.nodes as readonly [Node, ...Node[]]
    await Promise.all(this.nodes.map(({ port }, i) => ask(port, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1)))
    const share = (i: number): number => Math.round((i * SLOTS) / primaries)
    await Promise.all(
      this.nodes
        .slice(0, primaries)
        .map(({ port }, i) => ask(port, 'CLUSTER', 'ADDSLOTS', ...range(share(i), share(i + 1)))),
    )
    await Promise.all(others.map(({ port }) => ask(first.port, 'CLUSTER', 'MEET', '127.0.0.1', port)))
    await eventually(
      async () => (await this.#views()).every((view) => view.length === this.nodes.length),
      'all nodes know each other',
    )
    const replicas = this.nodes.slice(primaries)
    await Promise.all(
      replicas.map(({ port }, i) => ask(port, 'CLUSTER', 'REPLICATE', this.nodes[i % primaries]?.id ?? '')),
    )
    await eventually(async () => {
      const told = await Promise.all(this.nodes.map(({ port }) => ask(port, 'CLUSTER', 'SLOTS')))
      const nodesOf = (entries: unknown): number =>
        (entries as unknown[][]).reduce((sum, [, , ...nodes]) => sum + nodes.length, 0)
      return told.every((entries) => nodesOf(entries) === this.nodes.length)
    }, 'all nodes tell clients of all replicas')
    await this.whenOk()
  }

  async primaryOf(slot: number): Promise<ClusterNode> {
    const [view = []] = await this.#views()
    const primary = view.find(({ slots }) => slots.some(([first, last]) => slot >= first && slot <= last))
    const node = this.nodes.find(({ port }) => port === primary?.port)
    if (node) return node
    throw new Error(`slot ${slot} has no primary`)
  }

  async moveSlots(slots: readonly number[], to: ClusterNode): Promise<void> {
    for (const slot of slots) await this.moveSlot(slot, to)
  }

  async moveSlot(slot: number, to: ClusterNode, halfway?: () => unknown): Promise<void> {
    const from = await this.primaryOf(slot)
    if (from.port === to.port) return
    const setSlot = (node: ClusterNode, ...state: string[]): Promise<unknown> =>
      ask(node.port, 'CLUSTER', 'SETSLOT', slot, ...state)
    await setSlot(to, 'IMPORTING', from.id)
    await setSlot(from, 'MIGRATING', to.id)
    if (halfway) {
      const keys = Number(await ask(from.port, 'CLUSTER', 'COUNTKEYSINSLOT', slot))
      await moveKeys(slot, from, to, Math.floor(keys / 2))
      await halfway()
    }
    await moveKeys(slot, from, to)
    // The new owner first, or no node would serve the slot for a moment.
    await setSlot(to, 'NODE', to.id)
    await setSlot(from, 'NODE', to.id)
    await eventually(async () => {
      const views = await this.#views()
      return views.every((view) => hasSlot(view, slot, to.port))
    }, `all nodes know that slot ${slot} has moved`)
  }

  async killPrimary(slot = 0): Promise<ClusterNode> {
    const primary = await this.primaryOf(slot)
    await primary.kill()
    return primary
  }

  whenOk(): Promise<void> {
    return eventually(async () => {
      const living = this.#living()
      const infos = await Promise.all(living.map(({ port }) => ask(port, 'CLUSTER', 'INFO')))
      if (!infos.every((info) => String(info).includes('cluster_state:ok'))) return false
      const ports = new Set(living.map(({ port }) => port))
      // Nodes report ok until they notice that one is gone, so check the slots, too.
      return (await this.#views()).every((view) => slotsOn(view, ports) === SLOTS)
    }, 'the cluster is well')
  }

  async restart(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.restart()))
    await this.whenOk()
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.end()))
  }

  #living(): readonly Node[] {
    return this.nodes.filter(({ isSilent }) => !isSilent)
  }

  #views(): Promise<Seen[][]> {
    return Promise.all(
      this.#living().map(async ({ port }) => readNodes(String(await ask(port, 'CLUSTER', 'NODES')))),
    )
  }
}

interface Node extends ClusterNode {
  /** Whether it was killed or paused. */
  readonly isSilent: boolean
  /** Does nothing if it was not killed. */
  restart(): Promise<void>
  end(): Promise<void>
}

/** Starts a node in a folder of its own, where it stores what it knows about the other nodes. */
async function startNode(port: number, settings: readonly string[]): Promise<Node> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cluster-'))
  const start = (): Promise<RedisServer> => startRedis({ port, args: [...settings, '--dir', folder] })
  let server = await start()
  let state: 'up' | 'hung' | 'gone' = 'up'
  return {
    id: String(await ask(port, 'CLUSTER', 'MYID')),
    port,
    url: server.url,
    get pid() {
      return server.pid
    },
    get isSilent() {
      return state !== 'up'
    },
    stop: () => ((state = 'gone'), server.stop()),
    kill: () => ((state = 'gone'), server.kill()),
    pause: () => ((state = 'hung'), server.pause()),
    resume: () => {
      if (state === 'hung') state = 'up'
      server.resume()
    },
    restart: async () => {
      if (state !== 'gone') return
      server = await start()
      state = 'up'
    },
    end: async () => {
      await server.kill()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function moveKeys(slot: number, from: ClusterNode, to: ClusterNode, most = Infinity): Promise<void> {
  for (let left = most; left > 0;) {
    const count = Math.min(left, KEYS_AT_ONCE)
    const keys = (await ask(from.port, 'CLUSTER', 'GETKEYSINSLOT', slot, count)) as string[]
    if (keys.length === 0) return
    await ask(from.port, 'MIGRATE', '127.0.0.1', to.port, '', 0, 5000, 'KEYS', ...keys)
    left -= keys.length
  }
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}
