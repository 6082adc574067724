import { becomeReady, commandsOf, type Commands } from './ioredis.js'
import { SOON, triesSoon, WAITS_LONG, warnOf, type Setting } from './settings.js'
import { ClientFaults } from './client-faults.js'
import { clientClosed, shared, type Emitter, type RedisPort } from './port.js'
import { pause, setImmediate } from '../../../base/timers.js'
import { hashSlotFor } from '../layout.js'

/** A connection of a `Cluster`. */
export interface Node extends Pick<Emitter, 'once'> {
  readonly status: string
  readonly options: { readonly host?: string; readonly port?: number }
  connect(): Promise<unknown>
}

export interface Cluster extends Commands {
  readonly isCluster: true
  readonly options?: ClusterSettings
  /** By slot: the addresses of its servers, the primary first. */
  readonly slots: readonly (readonly string[] | undefined)[]
  nodes(role: 'master'): readonly Node[]
}

export interface ClusterSettings {
  readonly retryDelayOnFailover?: number
  readonly enableOfflineQueue?: boolean
  readonly clusterRetryStrategy?: unknown
}

const SETTINGS: readonly Setting<ClusterSettings>[] = [
  {
    use: 'retryDelayOnFailover: 0',
    isSo: ({ retryDelayOnFailover }) => retryDelayOnFailover === 0,
    else: 'It sends commands again if the connection is lost before their replies, so requests can count twice.',
  },
  {
    use: 'enableOfflineQueue: false',
    isSo: ({ enableOfflineQueue }) => enableOfflineQueue === false,
    else: 'It queues commands for servers that it cannot reach, so requests count long after they were answered.',
  },
  {
    use: `clusterRetryStrategy: ${SOON}`,
    isSo: ({ clusterRetryStrategy }) => triesSoon(clusterRetryStrategy),
    else: WAITS_LONG,
  },
]

/** How long the first requests wait for all primaries, in ms. After that, those that are connected serve. */
const FIRST_CONNECTIONS_MS = 1000

export function isIoredisCluster(client: Commands): client is Cluster {
  return (client as Partial<Cluster>).isCluster === true
}

export function ioredisClusterPort(client: Cluster): RedisPort {
  warnOf('This ioredis cluster client', client.options ?? {}, SETTINGS)
  const faults = faultsOfNodes(client)
  client.on('+node', () => void setImmediate(() => void connectNodes(client)))
  let isWarm = false
  let isClosed = false
  // After its end, a cluster client can keep the status `close` instead of `end`.
  client.on('end', () => (isClosed = true))
  client.on('connecting', () => (isClosed = false))
  const becoming = shared(async () => {
    if (isClosed) throw clientClosed()
    if (client.status !== 'ready') await becomeReady(client, faults)
    await Promise.race([connectNodes(client), pause(FIRST_CONNECTIONS_MS)])
    isWarm = true
  })
  const { evalsha, eval: evaluate, del, info } = commandsOf(client)
  const unreachable = unreachableOn(client, faults)
  return {
    isCluster: true,
    observe: (listener) => faults.observe(listener),
    cause: () => faults.cause(),
    errorOf: (thrown, key) => faults.errorOf(thrown, addressOf(client, key)),
    ready: () => (client.status === 'ready' && isWarm ? undefined : becoming()),
    evalsha: (sha1, keys, args) => unreachable(keys[0]) ?? evalsha(sha1, keys, args),
    eval: (text, keys, args) => unreachable(keys[0]) ?? evaluate(text, keys, args),
    del: (keys) => unreachable(keys[0]) ?? del(keys),
    info,
  }
}

/** Connects to every primary. Otherwise the client connects at the first command, and queues commands meanwhile. */
async function connectNodes(client: Cluster): Promise<void> {
  if (client.status !== 'ready') return
  const nodes = client.nodes('master').filter(({ status }) => status === 'wait')
  await Promise.allSettled(nodes.map((node) => node.connect()))
}

/** An error of one server's connection comes with its address. An error of the whole client has none. */
function faultsOfNodes(client: Cluster): ClientFaults {
  const faults = new ClientFaults(client, { ready: 'ready' }, client.status === 'ready')
  client.on('node error', (thrown, address) => void faults.note(thrown, address as string))
  client.on('+node', (node) => {
    const { host, port } = (node as Node).options
    ;(node as Node).once('ready', () => faults.forget(`${host}:${port}`))
  })
  return faults
}

function addressOf(client: Cluster, key = ''): string | undefined {
  return client.slots[hashSlotFor(key)]?.[0]
}

/** Rejects when the server of a key is known but not connected: the client would queue the command for it. */
function unreachableOn(client: Cluster, faults: ClientFaults): (key?: string) => Promise<never> | undefined {
  // Cached, since the client makes a new list of its servers for each call of `nodes`.
  const known = new Map<string, Node>()
  client.on('-node', () => known.clear())
  return (key = '') => {
    const address = addressOf(client, key)
    if (address === undefined || known.get(address)?.status === 'ready') return undefined
    const node = client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === address)
    if (!node) return undefined
    known.set(address, node)
    if (node.status === 'ready' || node.status === 'wait') return undefined
    return Promise.reject(faults.unreachable(address))
  }
}
