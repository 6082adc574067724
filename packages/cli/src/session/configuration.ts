import { readPlans, type Limiter, type LimiterOptions, type Store } from '@tollgate/core'
import { readAddress, type Address, type ConnectionFlags } from '../connection/address.js'
import { PATIENCE_MS } from '../connection/client.js'
import { CommandError, EXIT } from '../errors.js'
import type { Host } from '../host.js'
import type { Output } from '../output/output.js'
import { safeText } from '../output/safe-text.js'
import { inMemory, loadPlansFile, type KnownPlans } from './plans-file.js'
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
  /** Undefined if nobody has said what the application's plans are. */
  readonly plans: KnownPlans | undefined
  readonly options: LimiterOptions
  readonly address: Address
  /** Runs `work` with a limiter in memory: it refuses what the real one would, and changes nothing. */
  rehearse<T>(work: (limiter: Limiter) => Promise<T>, nowMs?: number): Promise<T>
  /** The same with these plans. */
  with(plans: KnownPlans): Configuration
}

/**
 * Reads everything that a command was given, and connects to nothing.
 *
 * @param named plans that the command names. As long as no plans are known, it is taken for granted that they exist
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
  const given: LimiterOptions = {
    ...(hashIds !== undefined && { hashIds }),
    ...(flags.name !== undefined && { name: flags.name }),
    ...{ warnings: false, denials: false, deadlineMs: PATIENCE_MS },
  }
  const configurationOf = (plans: KnownPlans | undefined): Configuration => {
    const options: LimiterOptions = {
      ...(plans?.options ?? withoutPlans(named)),
      ...given,
      // Otherwise the processes of the application would share their limits with this one while Redis is silent.
      local: { ...plans?.options.local, instances: 1 },
    }
    const rehearse: Configuration['rehearse'] = (work, nowMs = Date.now()) => inMemory(options, nowMs, work)
    return { plans, options, address, rehearse, with: configurationOf }
  }
  const configuration = configurationOf(file)
  await configuration.rehearse(async () => {})
  return configuration
}

/** Plans for commands that need none: a limiter has at least one with limits. */
function withoutPlans(named: readonly string[]): LimiterOptions {
  const plans = Object.fromEntries(named.map((name) => [name, 'unlimited' as const]))
  return { plans: { ...plans, default: '1/s' }, defaultPlan: 'default' }
}

/** Without a plans file, the plans that a process of the application has left in its Redis, if there are any. */
export async function withPlansOfStore(configuration: Configuration, store: Store): Promise<Configuration> {
  if (configuration.plans) return configuration
  const options = await readPlans(store, { name: configuration.options.name })
  return options ? configuration.with({ shown: 'the plans of the application', options }) : configuration
}

/**
 * For commands that ask for the limits of a plan.
 *
 * @param plan that the operator named
 * @throws {CommandError} when no plans are known, or no such plan is among them
 */
export function needPlan({ plans }: Configuration, plan: string | undefined): KnownPlans {
  if (plans) {
    const names = Object.keys(plans.options.plans ?? {})
    if (plan === undefined || names.includes(plan)) return plans
    const known =
      names.length === 0
        ? 'They have the option limit, so leave --plan out'
        : `They are ${names.map((one) => safeText(one)).join(', ')}`
    throw new CommandError(
      EXIT.usage,
      `--plan: there is no plan '${safeText(plan)}' in ${plans.shown}. ${known}.`,
    )
  }
  throw new CommandError(
    EXIT.usage,
    'The limits of the plans are not known: there is no plans file here, and no process of the application has left them in this Redis.',
    'Are the address, the database, --prefix and --name those of the application? Or pass --plans FILE: an ES module whose default export has the options of createLimiter.',
  )
}

/**
 * For bookings, where the wrong plan would mean another limit.
 *
 * @throws {CommandError} when neither the operator nor the plans say the plan of a customer
 */
export function needItsPlan(configuration: Configuration, plan: string | undefined): void {
  const { options } = needPlan(configuration, plan)
  const names = Object.keys(options.plans ?? {})
  if (plan !== undefined || options.planOf || names.length < 2) return
  const list = names.map((one) => safeText(one)).join(', ')
  throw new CommandError(
    EXIT.usage,
    `Which plan is it? There are several: ${list}.`,
    'Pass --plan NAME, as the application does with each request. tollgate show ID says which one it is.',
  )
}
