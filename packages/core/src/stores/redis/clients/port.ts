import { StoreError } from '../../../base/errors.js'

export type ScriptArg = string | number

/** All that the store needs from a Redis client. It hides how clients differ. */
export interface RedisPort {
  /** Whether keys are spread over several servers by their slots. */
  readonly isCluster: boolean
  /** A promise while commands cannot be sent yet; undefined once they can. It rejects if that will not be soon. */
  ready(): Promise<void> | undefined
  evalsha(sha1: string, keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown>
  eval(text: string, keys: readonly string[], args: readonly ScriptArg[]): Promise<unknown>
  /** Deletes keys, all in one shard. Resolves to how many there were. */
  del(keys: readonly string[]): Promise<unknown>
  /** WAIT, on the same connection as all other commands. Clients with several connections have none. */
  wait?(replicas: number, timeoutMs: number): Promise<unknown>
  /** Reports what keeps the client from connecting, until it has connected once. Returns a function that stops it. */
  observe(listener: FaultListener): () => void
  /** Why commands cannot be sent, if that is known. */
  cause(): StoreError | undefined
  /** Why a command failed, from its error and its first key. */
  errorOf(thrown: unknown, key?: string): StoreError
  /** A section of INFO, from any of the client's servers. */
  info(section: string): Promise<unknown>
}

export type FaultListener = (error: StoreError) => void

/** The part of a client that reports its state. */
export interface Emitter {
  on(event: string, listener: (value: unknown, of?: unknown) => void): unknown
  once(event: string, listener: (value: unknown) => void): unknown
  removeListener(event: string, listener: (value: unknown) => void): unknown
}

/** The events that end the wait for a client, and how its errors become faults. */
export interface Signs {
  readonly ready: string
  readonly closed: string
  readonly fault: (thrown: unknown) => StoreError
}

/**
 * Waits until a client can be used. Rejects with the first error that the client reports, so that callers learn the cause.
 * The client itself keeps trying to connect.
 *
 * @param start connects a client that is not connecting yet. If it rejects, so does this
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

/** Runs `begin` only once at a time: callers that come while it runs share its result. */
export function shared(begin: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => (running ??= begin().finally(() => (running = undefined)))
}

export function clientClosed(): StoreError {
  return new StoreError('the Redis client is closed: close it after the limiter', { reason: 'closed' })
}
