import { StoreError } from '../../../base/errors.js'
import { storeErrorOf } from '../replies.js'

export type ScriptArg = string | number

/** What the store needs of a Redis client: the whole of what differs between clients. */
export interface RedisPort {
  /** Whether keys live on several servers, by their slots. */
  readonly isCluster: boolean
  /** A promise while commands cannot be sent yet; undefined when they can. It rejects when that will not change soon. */
  ready(): Promise<void> | undefined
  evalsha(sha1: string, keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown>
  eval(text: string, keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown>
  /** Of one shard. */
  del(keys: readonly string[]): Promise<unknown>
  /** WAIT, on the connection that all else goes on. Left out where there are several. */
  wait?(replicas: number, timeoutMs: number): Promise<unknown>
  /** Tells what keeps the client from connecting, until it has connected once. Returns what ends that. */
  observe(listener: FaultListener): () => void
  /** A section of INFO, of any of its servers. */
  info(section: string): Promise<unknown>
}

export type FaultListener = (error: StoreError) => void

/** The part of a client that tells how it is. */
export interface Emitter {
  on(event: string, listener: (value: unknown) => void): unknown
  once(event: string, listener: (value: unknown) => void): unknown
  removeListener(event: string, listener: (value: unknown) => void): unknown
}

/** How waiting for a client ends: the names of its events. */
export interface Signs {
  readonly ready: string
  readonly closed: string
  readonly fault: (thrown: unknown) => StoreError
}

/**
 * Waits until a client can be used. It stops waiting at the first error that the client tells of: the client goes on
 * trying by itself, and callers learn why it is not there instead of only that it is late.
 *
 * @param start begins to connect, where nobody has; what it throws ends the waiting
 */
export function untilReady(
  client: Emitter,
  signs: Signs,
  start: () => Promise<unknown> | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error?: StoreError): void => {
      client.removeListener(signs.ready, onReady)
      client.removeListener(signs.closed, onClosed)
      client.removeListener('error', onError)
      if (error) reject(error)
      else resolve()
    }
    const onReady = (): void => settle()
    const onClosed = (): void => settle(signs.fault(new Error('The client is closed')))
    const onError = (thrown: unknown): void => settle(signs.fault(thrown))
    client.once(signs.ready, onReady)
    client.once(signs.closed, onClosed)
    client.once('error', onError)
    start()?.then(onReady, onError)
  })
}

/**
 * Listens to a client's errors. Without a listener some clients print them and others end the process; Tollgate says
 * itself what its users must know.
 *
 * @param ready the event of a client that is connected
 */
export function faultsOf(client: Emitter, ready: string, isReady: boolean): RedisPort['observe'] {
  const listeners = new Set<FaultListener>()
  let wasReady = isReady
  client.on(ready, () => (wasReady = true))
  client.on('error', (thrown) => {
    if (wasReady || listeners.size === 0) return
    const error = storeErrorOf(thrown)
    for (const listener of listeners) listener(error)
  })
  return (listener) => {
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }
}

/** Runs `begin` once for all that ask while it has not ended. */
export function shared(begin: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => (running ??= begin().finally(() => (running = undefined)))
}

export function clientClosed(): StoreError {
  return new StoreError('the Redis client is closed', { reason: 'closed' })
}
