import { createLimiter, redisStore, type Limiter, type Store } from '@tollgate/core'
import { areIdsHashed } from '@tollgate/core/adapter'
import { Cluster } from 'ioredis'
import type { Address } from '../connection/address.js'
import { connect, makeClient, readCa, reasonOf, type Client } from '../connection/client.js'
import { connectionError, faultOf } from '../connection/faults.js'
import { CommandError, EXIT, toCommandError, wrong } from '../errors.js'
import { counted, shellWord } from '../output/words.js'
import type { Configuration, Context, SharedFlags } from './configuration.js'

/** A connection to the application's Redis. */
export interface Session extends Configuration {
  readonly client: Client
  readonly limiter: Limiter
  readonly store: Store
  /** By the store's clock, in ms since 1970. */
  readonly nowMs: number
}

/** For answers that could come from the wrong place. */
export const UNSEEN =
  'No process of the application had a request here in the last half minute: are the address, the database, --prefix and --name right?'

/** Whether a process of the application was seen. What a user may not read says nothing. */
export async function isAlive({ limiter }: Session): Promise<boolean> {
  return limiter.traffic({ most: 1 }).then(
    ({ processes, unread }) => processes + unread > 0,
    () => true,
  )
}

/** Where figures lack what some processes see. */
export function unreadInWords(unread: number): string {
  return `Another version of Tollgate runs in ${counted(unread, 'process', 'es')}, whose figures are not here.`
}

/**
 * For commands that name a customer. Where only hashes of ids are in Redis, nothing would be found under the id, and it would get there.
 *
 * @throws {CommandError}
 */
export async function needHashIds({ options, store }: Session): Promise<void> {
  if (options.hashIds !== undefined || !(await areIdsHashed(store, options.name))) return
  throw new CommandError(
    EXIT.usage,
    'The application hashes the ids in Redis, and its secret is missing here.',
    'Set TOLLGATE_HASH_IDS, or pass --hash-ids-file FILE.',
  )
}

/** How a session begins, and how long it lasts. */
interface SessionTerms {
  /** Adds to the configuration what the store knows. */
  readonly complete?: ((configuration: Configuration, store: Store) => Promise<Configuration>) | undefined
  /** As in ClientOptions. */
  readonly isLasting?: boolean
}

/** Connects, runs `work`, and leaves nothing running. */
export async function withSession<T>(
  context: Context,
  configuration: Configuration,
  work: (session: Session) => Promise<T>,
  { complete, isLasting }: SessionTerms = {},
): Promise<T> {
  const { flags, host } = context
  const { address } = configuration
  const options = { ca: readCa(flags.tlsCa, host.cwd), keyPrefix: flags.keyPrefix, isLasting }
  const client = makeClient(address, options)
  const store = storeOf(client, flags)
  try {
    await connect(client)
    await needPrimary(client, flags.prefix)
  } catch (error) {
    client.disconnect()
    throw connectionError(await reasonOf(error, address, options), address)
  }
  let limiter: Limiter | undefined
  try {
    const completed = complete ? await complete(configuration, store) : configuration
    limiter = createLimiter({ ...completed.options, store, traffic: false })
    const [seconds, micros] = (await client.time()) as unknown as [number, number]
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    return await work({ ...completed, client, limiter, store, nowMs })
  } catch (error) {
    // Where Redis refuses the calls for rules, core goes on without them, and says only that the list did not answer.
    if (limiter?.health().rules === 'off' && isOfStore(error))
      throw connectionError(new Error('NOPERM'), address)
    throw explained(error, address)
  } finally {
    await limiter?.close()
    client.disconnect()
  }
}

/**
 * A replica takes no change, and what it is asked to look up it may not have.
 *
 * @throws what a replica says to a write. This one changes nothing, and needs no right that Tollgate does not need
 */
async function needPrimary(client: Client, prefix = 'tollgate'): Promise<void> {
  if (client instanceof Cluster) return
  try {
    await client.set(`${prefix}/!none`, '', 'PX', 1, 'XX')
  } catch (error) {
    if (/\bREADONLY\b/.test((error as Error).message)) throw error
  }
}

function storeOf(client: Client, { prefix, shards }: SharedFlags): Store {
  if (shards !== undefined && !/^\d{1,4}$/.test(shards))
    throw wrong('--shards', shards, 'a whole number, such as 16')
  try {
    return redisStore(client, {
      ...(prefix !== undefined && { prefix }),
      ...(shards !== undefined && { shards: Number(shards) }),
    })
  } catch (error) {
    throw toCommandError(error)
  }
}

export function isOfStore(error: unknown): boolean {
  return toCommandError(error).exit === EXIT.store
}

/** For a store that fails, what that means here: core's words are for the code of an application. */
export function explained(error: unknown, address: Address): unknown {
  if (error instanceof CommandError || !isOfStore(error)) return error
  const { reason, cause } = error as { readonly reason?: string; readonly cause?: unknown }
  const fault = faultOf(reason === 'timeout' ? new Error('it did not answer') : (cause ?? error), address)
  return fault.kind === 'other' ? error : new CommandError(EXIT.store, fault.says, fault.hint)
}

const REPEATED: readonly (readonly [keyof SharedFlags, string])[] = [
  ['url', '--url'],
  ['cluster', '--cluster'],
  ['sentinel', '--sentinel'],
  ['tlsCa', '--tls-ca'],
  ['keyPrefix', '--key-prefix'],
  ['prefix', '--prefix'],
  ['shards', '--shards'],
  ['name', '--name'],
  ['plans', '--plans'],
  ['hashIdsFile', '--hash-ids-file'],
]

/** A command line to type next, with the same connection. */
export function commandLine(flags: SharedFlags, ...words: readonly string[]): string {
  const repeated = REPEATED.flatMap(([name, option]) => {
    const value = flags[name]
    if (value === undefined || value === false) return []
    return value === true ? [option] : [option, String(value)]
  })
  // An id that begins like an option comes last, behind `--`.
  const dashes = words.includes('--') ? words.indexOf('--') : words.length
  const [id, others] = [words.slice(dashes, dashes + 2), words.slice(dashes + 2)]
  return ['tollgate', ...words.slice(0, dashes), ...others, ...repeated, ...id].map(shellWord).join(' ')
}
