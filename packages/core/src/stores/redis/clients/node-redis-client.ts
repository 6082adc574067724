import type { Emitter } from './port.js'

export interface ScriptCall {
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

export interface Client extends NodeRedisClient, Pick<Emitter, 'once' | 'removeListener'> {
  readonly isReady?: boolean
  /** How many times it has connected. */
  readonly socketEpoch?: number
  readonly options?: ClientSettings | undefined
  on(event: string, listener: (value: unknown, of?: unknown) => void): unknown
  info(section: string): Promise<unknown>
  destroy(): unknown
  wait(replicas: number, timeoutMs: number): Promise<unknown>
}

export interface ClientSettings {
  readonly disableOfflineQueue?: boolean
  readonly socket?: { readonly reconnectStrategy?: unknown }
  readonly keyPrefix?: unknown
}
