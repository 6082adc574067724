import { createLimiter, redisStore, type Limiter, type LimiterOptions, type Store } from '@tollgate/core'
import { readAddress, type Address, type ConnectionFlags } from '../connection/address.js'
import { connect, makeClient, PATIENCE_MS, readCa, type Client } from '../connection/client.js'
import { connectionError, faultOf } from '../connection/faults.js'
import { CommandError, EXIT, toCommandError, wrong } from '../errors.js'
import type { Host } from '../host.js'
import type { Output } from '../output/output.js'
import { safeText } from '../output/safe-text.js'
import { shellWord } from '../output/words.js'
import { inMemory, loadPlansFile, type PlansFile } from './plans-file.js'
import { readSecrets } from './secrets.js'

/** Options of all commands that ask Redis. */
export interface SharedFlags extends ConnectionFlags {
  readonly prefix?: string
  readonly shards?: string
  readonly name?: string
  readonly plans?: string
  readonly hashIdsFile?: string
  readonly json?: boolean
}

/** What a command is run with. */
export interface Context<Flags extends SharedFlags = SharedFlags> {
  readonly host: Host
  readonly out: Output
  readonly flags: Flags
}

/** The application's limiter, as far as it is known here. */
export interface Configuration {
  readonly file: PlansFile | undefined
  readonly options: LimiterOptions
  readonly address: Address
  /** Runs `work` with a limiter in memory: it refuses what the real one would, and changes nothing. */
  rehearse<T>(work: (limiter: Limiter) => Promise<T>, nowMs?: number): Promise<T>
}

/**
 * For bookings, where the wrong plan would mean another limit.
 *
 * @throws {CommandError} when neither the operator nor the file says the plan of a customer
 */
export function needItsPlan(configuration: Configuration, plan: string | undefined): void {
  const { options, shown } = needPlan(configuration, plan)
  const names = Object.keys(options.plans ?? {})
  if (plan !== undefined || options.planOf || names.length < 2) return
  const list = names.map((one) => safeText(one)).join(', ')
  throw new CommandError(
    EXIT.usage,
    `Which plan is it? ${shown} has several: ${list}.`,
    'Pass --plan NAME, as the application does with each request.',
  )
}

/** A connection to the application's Redis. */
export interface Session extends Configuration {
  readonly client: Client
  readonly limiter: Limiter
  readonly store: Store
  /** By the store's clock, in ms since 1970. */
  readonly nowMs: number
}

/**
 * Reads everything that a command was given, and connects to nothing.
 *
 * @param named plans that the command names. Without a plans file it is taken for granted that they exist
 * @throws {CommandError}
 */
export async function configure(
  { host, flags }: Context,
  named: readonly string[] = [],
): Promise<Configuration> {
  const address = readAddress(flags, host.env)
  const file = await loadPlansFile(flags.plans, host.cwd)
  const secrets = { variable: 'TOLLGATE_HASH_IDS', option: '--hash-ids-file', file: flags.hashIdsFile }
  const [hashIds] = readSecrets(secrets, host)
  const options: LimiterOptions = {
    ...(file?.options ?? withoutFile(named)),
    ...(hashIds !== undefined && { hashIds }),
    ...(flags.name !== undefined && { name: flags.name }),
    ...{ warnings: false, denials: false, deadlineMs: PATIENCE_MS },
    // Otherwise the processes of the application would share their limits with this one while Redis is silent.
    local: { ...file?.options.local, instances: 1 },
  }
  const rehearse: Configuration['rehearse'] = (work, nowMs = Date.now()) => inMemory(options, nowMs, work)
  await rehearse(async () => {})
  return { file, options, address, rehearse }
}

/** Plans for commands that need none: a limiter has at least one with limits. */
function withoutFile(named: readonly string[]): LimiterOptions {
  const plans = Object.fromEntries(named.map((name) => [name, 'unlimited' as const]))
  return { plans: { ...plans, default: '1/s' }, defaultPlan: 'default' }
}

/**
 * Without a file nobody knows the limits of a plan.
 *
 * @param plan that the operator named
 * @returns the file
 * @throws {CommandError} when there is no file, or no such plan in it
 */
export function needPlan({ file }: Configuration, plan: string | undefined): PlansFile {
  if (file) {
    const names = Object.keys(file.options.plans ?? {})
    if (plan === undefined || names.includes(plan)) return file
    const known =
      names.length === 0
        ? 'It has the option limit, so leave --plan out'
        : `Its plans are ${names.map((one) => safeText(one)).join(', ')}`
    throw new CommandError(
      EXIT.usage,
      `--plan: there is no plan '${safeText(plan)}' in ${file.shown}. ${known}.`,
    )
  }
  throw new CommandError(
    EXIT.usage,
    'There is no plans file here, so the limits of the plans are not known.',
    'Run this where tollgate.config.js is, or pass --plans FILE: an ES module whose default export has the options of createLimiter.',
  )
}

/** Connects, runs `work`, and leaves nothing running. */
export async function withSession<T>(
  context: Context,
  configuration: Configuration,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  const { flags, host } = context
  const { address, options } = configuration
  const client = makeClient(address, { ca: readCa(flags.tlsCa, host.cwd), keyPrefix: flags.keyPrefix })
  const store = storeOf(client, flags)
  try {
    await connect(client)
  } catch (error) {
    throw connectionError(error, address)
  }
  const limiter = createLimiter({ ...options, store, traffic: false })
  try {
    const [seconds, micros] = (await client.time()) as unknown as [number, number]
    const nowMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    return await work({ ...configuration, client, limiter, store, nowMs })
  } catch (error) {
    // Where Redis refuses the calls for rules, core goes on without them, and says only that the list did not answer.
    if (limiter.health().rules === 'off' && isOfStore(error))
      throw connectionError(new Error('NOPERM'), address)
    throw explained(error, address)
  } finally {
    await limiter.close()
    client.disconnect()
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

function isOfStore(error: unknown): boolean {
  return toCommandError(error).exit === EXIT.store
}

/** For a store that fails, what that means here: core's words are for the code of an application. */
function explained(error: unknown, address: Address): unknown {
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
  return ['tollgate', ...words, ...repeated].map(shellWord).join(' ')
}
