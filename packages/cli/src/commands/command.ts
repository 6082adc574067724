import type { Command } from 'commander'
import type { ExitCode } from '../errors.js'
import type { Host } from '../host.js'
import { Output } from '../output/output.js'
import type { Context, SharedFlags } from '../session/configuration.js'

/** What a command does. It resolves to what the process ends with. */
export type Action<Flags extends SharedFlags> = (
  context: Context<Flags>,
  ...args: readonly string[]
) => Promise<ExitCode>

/** What commands are added to. */
export interface Shell {
  readonly host: Host
  readonly program: Command
  /** Called with what the process ends with. */
  readonly end: (exit: ExitCode) => void
}

export interface Description {
  /** With its arguments: `block <id>`. */
  readonly usage: string
  readonly summary: string
  /** More than a line, for the help of the command alone. */
  readonly about?: string
  /** Command lines without `tollgate`, with what they do. */
  readonly examples: readonly (readonly [string, string])[]
}

/** Adds a command. Its own options come before those that others share. */
export function addCommand<Flags extends SharedFlags>(
  { program, host, end }: Shell,
  { usage, summary, about, examples }: Description,
  action: Action<Flags>,
): Command {
  const command = program
    .command(usage)
    .summary(summary)
    .description(about ?? summary)
  command.action(async (...given: unknown[]) => {
    // Commander passes the arguments, then the options, then the command.
    const args = given.slice(0, -2).filter((one) => typeof one === 'string')
    const flags = command.opts<Flags>()
    end(await action({ host, flags, out: new Output(host, flags.json === true) }, ...args))
  })
  // Each with its comment above: beside it, it would not fit into 80 columns.
  const lines = examples.map(([line, what]) => `  # ${what}\n  tollgate ${line}`)
  command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  return command
}

/** `--json`, on each command. */
export function withJson(command: Command): Command {
  return command.option('--json', 'print JSON, for programs')
}

/** The options of commands that ask Redis. */
export function withConnection(command: Command): Command {
  return withJson(command)
    .optionsGroup('Connection:')
    .option('--url <url>', 'the address of Redis, without a password (default: the variable REDIS_URL)')
    .option('--cluster', 'a Redis Cluster: several addresses are separated by commas')
    .option('--sentinel <name>', 'the addresses are sentinels, and this is their name for the primary')
    .option('--tls-ca <file>', 'use TLS, and trust the certificates in this file')
    .option('--prefix <prefix>', 'the prefix of redisStore(redis, { prefix }) (default: tollgate)')
    .option('--key-prefix <prefix>', "the client's keyPrefix, if it has one")
    .option('--shards <number>', 'of a cluster, if redisStore(redis, { shards }) has it')
    .option('--name <name>', "the limiter's name, if createLimiter({ name }) has one")
    .option(
      '--hash-ids-file <file>',
      'a file with the secret hashIds (default: the variable TOLLGATE_HASH_IDS)',
    )
    .option('--plans <file>', 'the plans file (default: tollgate.config.js or .mjs in this folder)')
}

/** The options that say how an id is meant. */
export function withSubject(command: Command): Command {
  return command
    .option('--ip', "the id is a client's address")
    .option('--exact', "the id is meant as it is, also if it ends with '*'")
}

/** The options that say what the application says of a customer with each request. */
export function withGivenOptions(command: Command): Command {
  return command
    .option('--plan <name>', "the customer's plan, if the application names it with each request")
    .option('--anchor <day>', 'its billing day, such as 2026-01-31 or 15, if the application passes one')
    .option('--time-zone <name>', 'the time zone of its billing day, such as Europe/Berlin')
}

/** Options that are given more than once, such as `--limit`. */
export function collected(one: string, before: readonly string[] = []): readonly string[] {
  return [...before, one]
}
