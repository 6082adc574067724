import { pause, setImmediate } from '../../../base/timers.js'
import { StoreError } from '../../../base/errors.js'
import { storeErrorOf } from '../replies.js'
import { slotOf } from '../slots.js'
import { shared, untilReady, type Emitter, type RedisPort, type ScriptArg } from './port.js'
import { warnOf, type Setting } from './settings.js'

interface Commands extends Emitter {
  readonly status: string
  connect(): Promise<unknown>
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
  info(section: string): Promise<unknown>
}

/** The part of a `Redis` of ioredis 5 or 6, or of iovalkey, that is used. */
export interface IoredisClient {
  readonly status: string
  readonly options?: object
  connect(): Promise<unknown>
  once(event: 'ready' | 'end', listener: () => void): unknown
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
}

interface Single extends Commands {
  wait(replicas: number, timeoutMs: number): Promise<unknown>
  readonly options?: SingleSettings
  readonly stream?: { readonly writable?: boolean }
}

/** A connection of a `Cluster`. */
interface Node {
  readonly status: string
  readonly options: { readonly host?: string; readonly port?: number }
  connect(): Promise<unknown>
}

interface Cluster extends Commands {
  readonly isCluster: true
  readonly options?: ClusterSettings
  /** For each slot the addresses of its servers, the primary first. */
  readonly slots: readonly (readonly string[] | undefined)[]
  nodes(role: 'master'): readonly Node[]
}

interface SingleSettings {
  readonly autoResendUnfulfilledCommands?: boolean
}

interface ClusterSettings {
  readonly retryDelayOnFailover?: number
  readonly enableOfflineQueue?: boolean
}

const SINGLE_SETTINGS: readonly Setting<SingleSettings>[] = [
  {
    use: 'autoResendUnfulfilledCommands: false',
    isSo: ({ autoResendUnfulfilledCommands }) => autoResendUnfulfilledCommands === false,
    else: 'it sends commands again when a connection was lost before their replies came, so that requests can count twice',
  },
]

const CLUSTER_SETTINGS: readonly Setting<ClusterSettings>[] = [
  {
    use: 'retryDelayOnFailover: 0',
    isSo: ({ retryDelayOnFailover }) => retryDelayOnFailover === 0,
    else: 'it sends commands again when a connection was lost before their replies came, so that requests can count twice',
  },
  {
    use: 'enableOfflineQueue: false',
    isSo: ({ enableOfflineQueue }) => enableOfflineQueue === false,
    else: 'it keeps commands for servers that it cannot reach, and requests count long after they were answered',
  },
]

export function isIoredis(client: object): boolean {
  const { status, evalsha, eval: evaluate, once } = client as Partial<Commands>
  return (
    [evalsha, evaluate, once].every((member) => typeof member === 'function') && typeof status === 'string'
  )
}

export function ioredisPort(client: object): RedisPort {
  const commands = client as Commands
  // Without a listener ioredis prints what the store tells as an event.
  commands.on('error', () => {})
  return (client as Partial<Cluster>).isCluster === true
    ? clusterPort(client as Cluster)
    : singlePort(client as Single)
}

function commandsOf(client: Commands): Pick<RedisPort, 'evalsha' | 'eval' | 'del' | 'info'> {
  return {
    evalsha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
    del: (keys) => client.del(...keys),
    info: (section) => client.info(section),
  }
}

const signs = { ready: 'ready', closed: 'end', fault: storeErrorOf }

/** Commands sent before this would wait in the client, and be counted long after their callers were answered. */
function becomeReady(client: Commands): Promise<void> {
  if (client.status === 'end') return Promise.reject(closed())
  return untilReady(client, signs, () => {
    // With lazyConnect nobody else does; why it fails is told by the client's own events.
    if (client.status === 'wait') client.connect().catch(() => {})
    return undefined
  })
}

function closed(): StoreError {
  return new StoreError('the Redis client is closed', { reason: 'closed' })
}

function singlePort(client: Single): RedisPort {
  warnOf('This ioredis client', client.options ?? {}, SINGLE_SETTINGS)
  const becoming = shared(() => becomeReady(client))
  const isReady = (): boolean => client.status === 'ready' && client.stream?.writable !== false
  const { evalsha, eval: evaluate, del, info } = commandsOf(client)
  const answered = answeredOrLost(client)
  return {
    isCluster: false,
    ready: () => (isReady() ? undefined : becoming()),
    evalsha: (...args) => answered(evalsha(...args)),
    eval: (...args) => answered(evaluate(...args)),
    del: (...args) => answered(del(...args)),
    info: (section) => answered(info(section)),
    wait: (replicas, timeoutMs) => answered(client.wait(replicas, timeoutMs)),
  }
}

/** ioredis never settles what it does not send again after a lost connection; nobody must wait for that. */
function answeredOrLost(client: Single): (sent: Promise<unknown>) => Promise<unknown> {
  if (client.options?.autoResendUnfulfilledCommands !== false) return (sent) => sent
  const waiting = new Set<(error: StoreError) => void>()
  client.on('close', () => {
    const error = storeErrorOf(new Error('the connection was lost before the reply came'))
    for (const fail of waiting) fail(error)
    waiting.clear()
  })
  return (sent) =>
    new Promise((resolve, reject) => {
      waiting.add(reject)
      sent.then(resolve, reject).finally(() => waiting.delete(reject))
    })
}

/** So long all primaries have to be reached at first, before requests go to those that are. */
const FIRST_CONNECTIONS_MS = 1000

function clusterPort(client: Cluster): RedisPort {
  warnOf('This ioredis cluster client', client.options ?? {}, CLUSTER_SETTINGS)
  client.on('+node', () => void setImmediate(() => void connectNodes(client)))
  let isWarm = false
  let isClosed = false
  // A cluster client that has ended can say `close` as its status ever after.
  client.on('end', () => (isClosed = true))
  client.on('connecting', () => (isClosed = false))
  const becoming = shared(async () => {
    if (isClosed) throw closed()
    if (client.status !== 'ready') await becomeReady(client)
    await Promise.race([connectNodes(client), pause(FIRST_CONNECTIONS_MS)])
    isWarm = true
  })
  const { evalsha, eval: evaluate, del, info } = commandsOf(client)
  return {
    isCluster: true,
    ready: () => (client.status === 'ready' && isWarm ? undefined : becoming()),
    evalsha: (sha1, keys, args) => unreachable(client, keys[0]) ?? evalsha(sha1, keys, args),
    eval: (text, keys, args) => unreachable(client, keys[0]) ?? evaluate(text, keys, args),
    del: (keys) => unreachable(client, keys[0]) ?? del(keys),
    info,
  }
}

/** A cluster client connects to a server when it is first sent something, and keeps all that comes in the meantime. */
async function connectNodes(client: Cluster): Promise<void> {
  if (client.status !== 'ready') return
  const nodes = client.nodes('master').filter(({ status }) => status === 'wait')
  await Promise.allSettled(nodes.map((node) => node.connect()))
}

/** A rejection when the server of a key is known but not there: the client would keep the command for it. */
function unreachable(client: Cluster, key = ''): Promise<never> | undefined {
  const address = client.slots[slotOf(key)]?.[0]
  const node = client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === address)
  if (!node || node.status === 'ready' || node.status === 'wait') return undefined
  return Promise.reject(
    new StoreError(`the Redis at ${address} cannot be reached`, { reason: 'unreachable' }),
  )
}
