import { elapsedMs } from '../../../base/timers.js'
import { hashSlotFor } from '../layout.js'
import { ClientFaults } from './client-faults.js'
import { type RedisPort, type ScriptArg, clientClosed, shared, untilReady, type Emitter } from './port.js'
import { SOON, triesSoon, WAITS_LONG, warnOf, type Setting } from './settings.js'

interface Primary {
  readonly client?: { readonly isReady: boolean; readonly options?: { readonly socket?: Address } }
}

interface Address {
  readonly host?: string
  readonly port?: number
}

interface Single extends Client {
  sendCommand(args: readonly string[]): Promise<unknown>
}

interface Cluster extends Client {
  readonly masters: readonly Primary[]
  readonly slots: readonly ({ readonly master: Primary } | undefined)[]
  readonly _options?: { readonly defaults?: ClientSettings }
  sendCommand(key: undefined, isReadonly: boolean, args: readonly string[]): Promise<unknown>
}

const SETTINGS: readonly Setting<ClientSettings>[] = [
  {
    use: 'disableOfflineQueue: true',
    isSo: ({ disableOfflineQueue }) => disableOfflineQueue === true,
    else: 'it keeps commands while it is not connected, and requests count long after they were answered',
  },
  {
    use: `socket: { reconnectStrategy: ${SOON} }`,
    // Its own waits up to 2 s.
    isSo: ({ socket: { reconnectStrategy } = {} }) =>
      reconnectStrategy !== undefined && triesSoon(reconnectStrategy),
    else: WAITS_LONG,
  },
]

export function isNodeRedis(client: object): boolean {
  const { isOpen, evalSha, eval: evaluate, connect } = client as Partial<Client>
  return (
    [evalSha, evaluate, connect].every((member) => typeof member === 'function') &&
    typeof isOpen === 'boolean'
  )
}

/** Whether this is the callback form of a client, as in node-redis 3. */
export function isLegacyNodeRedis(client: object): boolean {
  return !('isOpen' in client) && 'evalSha' in client && 'sendCommand' in client
}

export function nodeRedisPort(client: object): RedisPort {
  return 'masters' in client && 'slots' in client
    ? clusterPort(client as Cluster)
    : singlePort(client as Single)
}

function callOf(keys: readonly string[], args: readonly ScriptArg[]): ScriptCall {
  return { keys: [...keys], arguments: args.map(String) }
}

/**
 * EVALSHA as a list of texts, since the client's own method takes longer to put the same list together. That method is
 * for clients with a prefix, and for pools and sentinels, which choose a connection.
 */
function evalshaOf(client: Single): RedisPort['evalsha'] {
  const ordinary = client.evalSha
  const isPlain = client.options !== undefined && !client.options.keyPrefix
  return (sha1, keys, args) => {
    // The user may have put another method in its place meanwhile, such as to watch it.
    if (!isPlain || client.evalSha !== ordinary) return client.evalSha(sha1, callOf(keys, args))
    const list = ['EVALSHA', sha1, String(keys.length)]
    for (const key of keys) list.push(key)
    for (const arg of args) list.push(String(arg))
    return client.sendCommand(list)
  }
}

function singlePort(client: Single): RedisPort {
  // Only plain clients have options; those of pools and sentinels cannot be read.
  if (client.options) warnOf('This node-redis client', client.options, SETTINGS)
  const isReady = (): boolean => client.isReady ?? client.isOpen
  const faults = new ClientFaults(client, { ready: 'ready', connected: 'connect' }, isReady())
  return {
    isCluster: false,
    observe: (listener) => faults.observe(listener),
    cause: () => faults.cause(),
    errorOf: (thrown) => faults.errorOf(thrown),
    ready: readiness(client, { isReady, faults, ready: 'ready', closed: 'end' }),
    evalsha: evalshaOf(client),
    eval: (text, keys, args) => client.eval(text, callOf(keys, args)),
    del: (keys) => client.del([...keys]),
    info: (section) => client.info(section),
    // Pools and sentinels have no options here. They write on several connections, and WAIT only covers writes of its
    // own.
    ...(client.options && { wait: (replicas, timeoutMs) => client.wait(replicas, timeoutMs) }),
  }
}

function clusterPort(client: Cluster): RedisPort {
  const { defaults = {} } = client._options ?? {}
  warnOf('This node-redis cluster client', defaults, SETTINGS, (uses) => `defaults: { ${uses} }`)
  // A cluster client of node-redis 5 has no isReady; only its events say that it is connected.
  let isConnected = client.masters.length > 0 && client.masters.every((primary) => primary.client?.isReady)
  client.on('connect', () => (isConnected = true))
  const isReady = (): boolean => client.isReady ?? (client.isOpen && isConnected)
  const faults = new ClientFaults(client, { ready: 'connect' }, isReady())
  client.on('node-error', (thrown, node) => void faults.note(thrown, addressOf(node as Address)))
  client.on('node-ready', (node) => faults.forget(addressOf(node as Address)))
  /** Rejects when the server of a key is known but not connected: the client would queue the command for it. */
  const unreachable = (key?: string): Promise<never> | undefined => {
    const node = nodeOf(client, key)
    if (!node || node.isReady) return undefined
    return Promise.reject(faults.unreachable(addressOf(node.options?.socket)))
  }
  return {
    isCluster: true,
    observe: (listener) => faults.observe(listener),
    cause: () => faults.cause(),
    errorOf: (thrown, key) => faults.errorOf(thrown, addressOf(nodeOf(client, key)?.options?.socket)),
    ready: readiness(client, { isReady, faults, ready: 'connect', closed: 'disconnect' }),
    evalsha: (sha1, keys, args) => unreachable(keys[0]) ?? client.evalSha(sha1, callOf(keys, args)),
    eval: (text, keys, args) => unreachable(keys[0]) ?? client.eval(text, callOf(keys, args)),
    del: (keys) => unreachable(keys[0]) ?? client.del([...keys]),
    info: (section) => client.sendCommand(undefined, true, ['INFO', section]),
  }
}

function nodeOf(client: Cluster, key = ''): Primary['client'] {
  return client.slots[hashSlotFor(key)]?.master.client
}

function addressOf({ host = '', port = 0 }: Address = {}): string {
  return `${host}:${port}`
}

/** After a failed start, wait at least this long, in ms, before the next try. */
const START_AGAIN_MS = 500

interface ReadinessOptions {
  readonly isReady: () => boolean
  readonly faults: ClientFaults
  /** The event of a client that sends commands immediately. */
  readonly ready: string
  /** The event of a client that was closed. */
  readonly closed: string
}

function readiness(
  client: Client,
  { isReady, faults, ...events }: ReadinessOptions,
): () => Promise<void> | undefined {
  const signs = { ...events, fault: (thrown: unknown) => faults.errorOf(thrown) }
  let wasReady = false
  let isClosed = false
  let failed = { at: Number.NEGATIVE_INFINITY, error: signs.fault(new Error('not connected')) }
  client.on(events.ready, () => (wasReady = true))
  client.on(events.closed, () => (isClosed = true))

  const start = async (): Promise<unknown> => {
    isClosed = false
    return client.connect().catch(async (error: unknown) => {
      failed = { at: elapsedMs(), error: signs.fault(error) }
      // A failed sentinel client of node-redis 5 stays open, and can neither be used nor connected again.
      if (client.isOpen) await client.destroy()
      // Some kinds of client report a failed start as if the user had closed them.
      if (!wasReady && !('socketEpoch' in client)) isClosed = false
      throw error
    })
  }
  let starting: Promise<unknown> | undefined
  const becoming = shared(async () => {
    // A start reports its error before it is over: until then the client is open, and nothing would come of waiting.
    await starting?.catch(() => {})
    if (client.isOpen) return untilReady(client, signs, () => undefined)
    if (isClosed || wasReady || (client.socketEpoch ?? 0) > 0) throw clientClosed()
    if (elapsedMs() - failed.at < START_AGAIN_MS) throw failed.error
    await untilReady(client, signs, () => (starting = start().finally(() => (starting = undefined))))
    // Set here, too, since a pool has no event for it.
    wasReady = true
  })
  return () => {
    if (!isReady()) return becoming()
    wasReady = true
    return undefined
  }
}

interface ScriptCall {
  readonly keys: string[]
  readonly arguments: string[]
}

/** The part that Tollgate uses of a client, pool, cluster or sentinel of node-redis 5 or 6. */
export interface NodeRedisClient {
  readonly isOpen: boolean
  connect(): Promise<unknown>
  on(event: 'error', listener: (error: unknown) => void): unknown
  evalSha(sha1: string, call: ScriptCall): Promise<unknown>
  eval(text: string, call: ScriptCall): Promise<unknown>
  del(keys: string[]): Promise<unknown>
}

interface Client extends NodeRedisClient, Pick<Emitter, 'once' | 'removeListener'> {
  readonly isReady?: boolean
  /** How many times it has connected. */
  readonly socketEpoch?: number
  readonly options?: ClientSettings | undefined
  on(event: string, listener: (value: unknown, of?: unknown) => void): unknown
  info(section: string): Promise<unknown>
  destroy(): unknown
  wait(replicas: number, timeoutMs: number): Promise<unknown>
}

interface ClientSettings {
  readonly disableOfflineQueue?: boolean
  readonly socket?: { readonly reconnectStrategy?: unknown }
  readonly keyPrefix?: unknown
}
