import { ConfigError, StoreError } from '../../errors.js'

/** What the store needs of a Redis client: the whole of what differs between clients. */
export interface RedisPort {
  /** A promise while commands cannot be sent yet; undefined when they can. */
  ready(): Promise<void> | undefined
  evalsha(sha1: string, keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown>
  eval(text: string, keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown>
  del(key: string): Promise<unknown>
}

export type ScriptArg = string | number

/** The part of an ioredis 5 or 6 client that is used. */
export interface IoredisClient {
  readonly status: string
  readonly options?: { readonly autoResendUnfulfilledCommands?: boolean | undefined }
  connect(): Promise<unknown>
  once(event: 'ready' | 'end', listener: () => void): unknown
  removeListener(event: 'ready' | 'end', listener: () => void): unknown
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(key: string): Promise<unknown>
}

/** Any client that `redisStore` takes. */
export type RedisClient = IoredisClient

/**
 * Finds out what kind of client this is.
 *
 * @throws {ConfigError} when it is none that is known
 */
export function portOf(client: unknown): RedisPort {
  if (isIoredis(client)) return ioredisPort(client)
  throw new ConfigError('redisStore(client)', client, 'an ioredis client, version 5 or 6: new Redis(url)')
}

function isIoredis(client: unknown): client is IoredisClient {
  if (typeof client !== 'object' || client === null) return false
  const { status, evalsha, eval: evaluate, once } = client as Partial<IoredisClient>
  return (
    [evalsha, evaluate, once].every((member) => typeof member === 'function') && typeof status === 'string'
  )
}

function ioredisPort(client: IoredisClient): RedisPort {
  warnOfResending(client)
  let becoming: Promise<void> | undefined
  return {
    ready() {
      if (client.status === 'ready') return undefined
      becoming ??= ioredisReady(client).finally(() => (becoming = undefined))
      return becoming
    },
    evalsha: (sha1, keys, args) => client.evalsha(sha1, keys.length, ...keys, ...args),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
    del: (key) => client.del(key),
  }
}

const warned = new WeakSet<IoredisClient>()

/** Once a client: its own setting is the only thing that keeps ioredis from it. */
function warnOfResending(client: IoredisClient): void {
  if (client.options?.autoResendUnfulfilledCommands === false || warned.has(client)) return
  warned.add(client)
  process.emitWarning(
    'This ioredis client sends commands again when a connection was lost before their replies came, so that ' +
      'requests can count twice. Make it with { autoResendUnfulfilledCommands: false }.',
    'TollgateWarning',
  )
}

/** Commands sent before this would wait in the client, and be counted long after their callers were answered. */
function ioredisReady(client: IoredisClient): Promise<void> {
  return new Promise((resolve, reject) => {
    if (client.status === 'end') return reject(new StoreError('the Redis client is closed'))
    const settle = (error?: StoreError): void => {
      client.removeListener('ready', onReady)
      client.removeListener('end', onEnd)
      if (error) reject(error)
      else resolve()
    }
    const onReady = (): void => settle()
    const onEnd = (): void => settle(new StoreError('the Redis client is closed'))
    client.once('ready', onReady)
    client.once('end', onEnd)
    // With lazyConnect nobody else does; why it fails is told by the client's own events.
    if (client.status === 'wait') client.connect().catch(() => {})
  })
}
