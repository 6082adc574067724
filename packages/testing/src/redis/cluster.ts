import { createServer } from 'node:net'
import { ask, until } from './admin.ts'
import { freePort, startRedis, type RedisServer } from './server.ts'

export interface ClusterNode extends RedisServer {
  /** What the cluster calls it. */
  readonly id: string
}

export interface RedisCluster {
  /** The first ones began as primaries, the others as their replicas, in turn. */
  readonly nodes: readonly ClusterNode[]
  /** The node that has the slot now, as living nodes see it. */
  primaryOf(slot: number): Promise<ClusterNode>
  /**
   * Moves a slot with its keys as an operator does.
   *
   * @param halfway called with half of the keys moved: clients are told ASK for those, and TRYAGAIN across both halves
   */
  moveSlot(slot: number, to: ClusterNode, halfway?: () => unknown): Promise<void>
  moveSlots(slots: readonly number[], to: ClusterNode): Promise<void>
  /** Ends the primary of the slot at once, and does not wait for the failover: `whenOk` does. */
  killPrimary(slot?: number): Promise<ClusterNode>
  /** Once every living node says that each slot has a primary that is alive and that all is well. */
  whenOk(): Promise<void>
  stop(): Promise<void>
}

export interface ClusterOptions {
  readonly primaries?: number
  /** Of each primary. */
  readonly replicas?: number
  /** A node that is silent for so long is taken for dead; a failover takes about 1 s more. */
  readonly nodeTimeoutMs?: number
  /** More arguments for each redis-server. */
  readonly args?: readonly string[]
}

const SLOTS = 16_384
const BUS_OFFSET = 10_000
const HIGHEST_PORT = 65_535
const KEYS_AT_ONCE = 100

/** A real cluster on 127.0.0.1. It takes about 2.5 s, 2 of them a delay that each primary has built in. */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { primaries = 3, replicas = 1, nodeTimeoutMs = 1000, args = [] } = options
  const ports = await portsWithBus(primaries * (1 + replicas))
  const settings = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', String(nodeTimeoutMs)],
    // Its default of 5 s is for several replicas to share one copy.
    ...['--repl-diskless-sync-delay', '0'],
    // Clients are told of a replica once it has got anything; 10 s is the default.
    ...['--repl-ping-replica-period', '1'],
    ...args,
  ]
  const servers = await Promise.all(ports.map((port) => startRedis({ port, args: settings })))
  const cluster = new Cluster(await Promise.all(servers.map(withId)))
  try {
    await cluster.join(primaries)
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

/** A line of CLUSTER NODES. */
interface Seen {
  readonly id: string
  readonly port: number
  readonly isPrimary: boolean
  readonly slots: readonly (readonly [first: number, last: number])[]
}

class Cluster implements RedisCluster {
  readonly nodes: readonly ClusterNode[]
  /** Killed or hung. */
  readonly #silent = new Set<ClusterNode>()

  constructor(nodes: readonly ClusterNode[]) {
    this.nodes = nodes.map((node) => this.#watched(node))
  }

  /** Makes one cluster of nodes that do not know each other. */
  async join(primaries: number): Promise<void> {
    const [first, ...others] = this.nodes as readonly [ClusterNode, ...ClusterNode[]]
    await Promise.all(this.nodes.map(({ port }, i) => ask(port, 'CLUSTER', 'SET-CONFIG-EPOCH', i + 1)))
    const share = (i: number): number => Math.round((i * SLOTS) / primaries)
    await Promise.all(
      this.nodes
        .slice(0, primaries)
        .map(({ port }, i) => ask(port, 'CLUSTER', 'ADDSLOTS', ...range(share(i), share(i + 1)))),
    )
    await Promise.all(others.map(({ port }) => ask(first.port, 'CLUSTER', 'MEET', '127.0.0.1', port)))
    await until('all nodes know each other', async () =>
      (await this.#views()).every((view) => view.length === this.nodes.length),
    )
    const replicas = this.nodes.slice(primaries)
    await Promise.all(
      replicas.map(({ port }, i) => ask(port, 'CLUSTER', 'REPLICATE', this.nodes[i % primaries]?.id ?? '')),
    )
    await until('all nodes tell clients of all replicas', async () => {
      const told = await Promise.all(this.nodes.map(({ port }) => ask(port, 'CLUSTER', 'SLOTS')))
      const nodesOf = (entries: unknown): number =>
        (entries as unknown[][]).reduce((sum, [, , ...nodes]) => sum + nodes.length, 0)
      return told.every((entries) => nodesOf(entries) === this.nodes.length)
    })
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
    // The new one first, or the slot would for a moment be nobody's.
    await setSlot(to, 'NODE', to.id)
    await setSlot(from, 'NODE', to.id)
    await until(`all nodes know that slot ${slot} has moved`, async () => {
      const views = await this.#views()
      return views.every((view) => hasSlot(view, slot, to.port))
    })
  }

  async killPrimary(slot = 0): Promise<ClusterNode> {
    const primary = await this.primaryOf(slot)
    await primary.kill()
    return primary
  }

  whenOk(): Promise<void> {
    return until('the cluster is well', async () => {
      const living = this.#living()
      const infos = await Promise.all(living.map(({ port }) => ask(port, 'CLUSTER', 'INFO')))
      if (!infos.every((info) => String(info).includes('cluster_state:ok'))) return false
      const ports = new Set(living.map(({ port }) => port))
      // Nodes say ok until they have noticed that one is gone.
      return (await this.#views()).every((view) => slotsOn(view, ports) === SLOTS)
    })
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()))
  }

  #living(): readonly ClusterNode[] {
    return this.nodes.filter((node) => !this.#silent.has(node))
  }

  #views(): Promise<Seen[][]> {
    return Promise.all(
      this.#living().map(async ({ port }) => readNodes(String(await ask(port, 'CLUSTER', 'NODES')))),
    )
  }

  #watched(server: ClusterNode): ClusterNode {
    const silence = (): void => void this.#silent.add(node)
    const node: ClusterNode = {
      ...server,
      stop: () => (silence(), server.stop()),
      kill: () => (silence(), server.kill()),
      pause: () => (silence(), server.pause()),
      resume: () => {
        this.#silent.delete(node)
        server.resume()
      },
    }
    return node
  }
}

async function withId(server: RedisServer): Promise<ClusterNode> {
  return { ...server, id: String(await ask(server.port, 'CLUSTER', 'MYID')) }
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

function readNodes(text: string): Seen[] {
  const lines = text.split('\n').filter((line) => line !== '')
  return lines
    .map((line) => line.split(' '))
    .filter(([, , flags = '']) => !flags.includes('handshake'))
    .map(([id = '', address = '', flags = '', , , , , , ...slots]) => ({
      id,
      port: Number(/:(\d+)@/.exec(address)?.[1]),
      isPrimary: flags.includes('master'),
      slots: slots.filter((slot) => !slot.startsWith('[')).map(readRange),
    }))
}

function readRange(text: string): [first: number, last: number] {
  const [first = '', last = first] = text.split('-')
  return [Number(first), Number(last)]
}

function hasSlot(view: readonly Seen[], slot: number, port: number): boolean {
  return view.some(
    (node) => node.port === port && node.slots.some(([first, last]) => slot >= first && slot <= last),
  )
}

function slotsOn(view: readonly Seen[], ports: ReadonlySet<number>): number {
  const ranges = view
    .filter(({ isPrimary, port }) => isPrimary && ports.has(port))
    .flatMap(({ slots }) => slots)
  return ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0)
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

/** Nodes talk to each other on a second port, which is the first plus 10 000 in every version. */
async function portsWithBus(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = await freePort()
    const bus = port + BUS_OFFSET
    if (bus <= HIGHEST_PORT && !ports.has(bus) && !ports.has(port - BUS_OFFSET) && (await isFree(bus))) {
      ports.add(port)
    }
  }
  return [...ports]
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
