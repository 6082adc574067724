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
    else: 'It queues commands while it is disconnected, so requests count long after they were answered.',
  },
  {
    use: `socket: { reconnectStrategy: ${SOON} }`,
    // The default waits up to 2 s.
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

/** Whether this is a client's callback form, as in node-redis 3. */
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
 * EVALSHA as a list of texts, since the client's own method takes longer to make the same list. Clients with a prefix, pools and
 * sentinels still use their own method: it adds the prefix, or chooses a connection.
 */
function evalshaOf(client: Single): RedisPort['evalsha'] {
  const ordinary = client.evalSha
  const isPlain = client.options !== undefined && !client.options.keyPrefix
  return (sha1, keys, args) => {
    // The user may have replaced the method, for example to trace calls.
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
    // Pools and sentinels have no options here. They write on several connections, but WAIT covers only its own.
    ...(client.options && { wait: (replicas, timeoutMs) => client.wait(replicas, timeoutMs) }),
  }
}

function clusterPort(client: Cluster): RedisPort {
  const { defaults = {} } = client._options ?? {}
  warnOf('This node-redis cluster client', defaults, SETTINGS, (uses) => `defaults: { ${uses} }`)
  // In node-redis 5 a cluster client has no isReady. Only its events show that it is connected.
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

/** The shortest wait between a failed start and the next attempt, in ms. */
const START_AGAIN_MS = 500

interface ReadinessOptions {
  readonly isReady: () => boolean
  readonly faults: ClientFaults
  /** The client's event when it can send commands immediately. */
  readonly ready: string
  /** The client's event when it was closed. */
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
      // In node-redis 5 a failed sentinel client stays open, but can neither be used nor connected again.
      if (client.isOpen) await client.destroy()
      // After a failed start, some kinds of client report that the user closed them.
      if (!wasReady && !('socketEpoch' in client)) isClosed = false
      throw error
    })
  }
  let starting: Promise<unknown> | undefined
  const becoming = shared(async () => {
    // A start reports its error before it is over. Until then the client is open, but waiting for it would be in vain.
    await starting?.catch(() => {})
    if (client.isOpen) return untilReady(client, signs, () => undefined)
    if (isClosed || wasReady || (client.socketEpoch ?? 0) > 0) throw clientClosed()
    if (elapsedMs() - failed.at < START_AGAIN_MS) throw failed.error
    await untilReady(client, signs, () => (starting = start().finally(() => (starting = undefined))))
    // Also set here, since a pool has no event for it.
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

/** What Tollgate uses of a client, pool, cluster or sentinel from node-redis 5 or 6. */
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
  /** How often it has connected. */
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
