import { clientClosed, untilReady, type Emitter, type RedisPort, type ScriptArg } from './port.js'
import { evalshaOf } from './ioredis-evalsha.js'
import type { ClientFaults } from './client-faults.js'

export interface Commands extends Emitter {
  readonly status: string
  connect(): Promise<unknown>
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
  info(section: string): Promise<unknown>
}

/** The part that Tollgate uses of a `Redis` of ioredis 5 or 6, or of iovalkey. */
export interface IoredisClient {
  readonly status: string
  readonly options?: object
  connect(): Promise<unknown>
  once(event: 'ready' | 'end', listener: () => void): unknown
  evalsha(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  eval(...args: [string, number, ...ScriptArg[]]): Promise<unknown>
  del(...keys: string[]): Promise<unknown>
}

export function commandsOf(client: Commands): Pick<RedisPort, 'evalsha' | 'eval' | 'del' | 'info'> {
  return {
    evalsha: evalshaOf(client),
    eval: (text, keys, args) => client.eval(text, keys.length, ...keys, ...args),
    del: (keys) => client.del(...keys),
    info: (section) => client.info(section),
  }
}

/**
 * Resolves once the client sends commands immediately. Before that it queues them, and Redis would count them much too
 * late.
 */
export function becomeReady(client: Commands, faults: ClientFaults): Promise<void> {
  if (client.status === 'end') return Promise.reject(clientClosed())
  const signs = { ready: 'ready', closed: 'end', fault: (thrown: unknown) => faults.errorOf(thrown) }
  return untilReady(client, signs, () => {
    // With lazyConnect the first user must connect. Errors are reported by the client's own events.
    if (client.status === 'wait') client.connect().catch(() => {})
    return undefined
  })
}
