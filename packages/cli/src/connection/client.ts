import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { Cluster, Redis } from 'ioredis'
import { CommandError, EXIT } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import type { Address } from './address.js'

export type Client = Redis | Cluster

/** An operator waits no longer than this for a connection or an answer, in ms. */
export const PATIENCE_MS = 3000

export interface ClientOptions {
  /** Of a file with certificates in PEM that are trusted besides. */
  readonly ca?: string | undefined
  readonly keyPrefix?: string | undefined
  /** Whether it connects again after Redis was gone. Default: no, so that a command ends. */
  readonly isLasting?: boolean | undefined
}

/** How long a lasting client waits between two tries, in ms. */
const AGAIN_MS = 500

/** @throws {CommandError} when the file cannot be read */
export function readCa(path: string | undefined, cwd: string): string | undefined {
  if (path === undefined) return undefined
  try {
    const text = readFileSync(resolve(cwd, path), 'utf8')
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new CommandError(EXIT.usage, `--tls-ca: ${safeText(path)} cannot be read (${code}).`)
  }
  throw new CommandError(EXIT.usage, `--tls-ca: ${safeText(path)} has no certificate in PEM.`)
}

/** A client that tries once, sends nothing twice, and has not connected yet. */
export function makeClient(address: Address, { ca, keyPrefix, isLasting }: ClientOptions = {}): Client {
  const again = isLasting ? () => AGAIN_MS : () => null
  const { username, password, db, isTls, nodes, name, sentinelPassword } = address
  const tls = isTls ? { ...(ca !== undefined && { ca }) } : undefined
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) }
  const shared = {
    ...login,
    ...(tls && { tls }),
    ...{ lazyConnect: true, enableReadyCheck: false, autoResendUnfulfilledCommands: false },
    ...{ connectTimeout: PATIENCE_MS, commandTimeout: PATIENCE_MS, disconnectTimeout: 100 },
    ...{ maxRetriesPerRequest: 0, disableClientInfo: true, connectionName: 'tollgate-cli' },
  }
  const prefixed = keyPrefix === undefined ? {} : { keyPrefix }
  if (address.kind === 'cluster') {
    return new Cluster([...nodes], {
      ...prefixed,
      ...{ lazyConnect: true, clusterRetryStrategy: again, enableOfflineQueue: false },
      ...{ retryDelayOnFailover: 0, maxRedirections: 3, slotsRefreshTimeout: PATIENCE_MS },
      redisOptions: shared,
      // With TLS, nodes are known by their names and not by their addresses.
      ...(tls && {
        dnsLookup: (host: string, done: (error: null, name: string) => void) => done(null, host),
      }),
    })
  }
  if (address.kind === 'sentinel') {
    return new Redis({
      ...{ ...shared, ...prefixed, db, name: name as string, sentinels: [...nodes] },
      ...{ sentinelRetryStrategy: again, retryStrategy: again, failoverDetector: false },
      ...(sentinelPassword !== undefined && { sentinelPassword }),
      ...(tls && { enableTLSForSentinelMode: true, sentinelTLS: tls }),
    })
  }
  const [node] = nodes as [Address['nodes'][number]]
  return new Redis({ ...shared, ...prefixed, ...node, db, retryStrategy: again })
}

/**
 * Connects, logs in, and waits for a sign of life.
 *
 * @throws the error that says most about why it is not possible
 */
export async function connect(client: Client, sign = (): Promise<unknown> => client.time()): Promise<void> {
  const seen: unknown[] = []
  client.on('error', (error) => seen.push(error))
  let timer: NodeJS.Timeout | undefined
  const silent = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it did not answer')), PATIENCE_MS)
  })
  try {
    await Promise.race([client.connect().then(sign), silent])
  } catch (error) {
    client.disconnect()
    // "Connection is closed" is only the end of the story.
    throw seen.find((one) => !/connection is closed/i.test(String((one as Error).message))) ?? error
  } finally {
    clearTimeout(timer)
  }
}

/** The reason why a client could not connect. That of a cluster which does not serve all slots only waits, and says nothing. */
export async function reasonOf(error: unknown, address: Address, options: ClientOptions): Promise<unknown> {
  if (address.kind !== 'cluster') return error
  const node = makeClient({ ...address, kind: 'server' }, options)
  node.on('error', () => {})
  try {
    const text = String(await node.call('cluster', 'info'))
    return /^cluster_state:fail/m.test(text) ? new Error('CLUSTERDOWN', { cause: error }) : error
  } catch {
    return error
  } finally {
    node.disconnect()
  }
}
