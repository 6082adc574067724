import { Command, CommanderError } from 'commander'
import { addBookings } from './commands/bookings.js'
import { addCheck } from './commands/check.js'
import { addDashboard } from './commands/dashboard.js'
import { addDoctor } from './commands/doctor/doctor.js'
import { addOverrides } from './commands/overrides.js'
import { addBlocks } from './commands/blocks.js'
import { addHistory } from './commands/history.js'
import { addRules } from './commands/rules.js'
import { addShow } from './commands/show/show.js'
import { addTop } from './commands/top.js'
import { addWhy } from './commands/why/why.js'
import type { Shell } from './commands/command.js'
import { EXIT, CommandError, toCommandError, type ExitCode } from './errors.js'
import type { Host } from './host.js'
import { Output } from './output/output.js'
import { safeLine, safeText } from './output/safe-text.js'

const AFTER = `
Environment:
  REDIS_URL                redis://USER:PASSWORD@HOST:PORT, or rediss:// with TLS
  REDIS_PASSWORD           the password, if it is not in the URL
  REDIS_SENTINEL_PASSWORD  the password of the sentinels
  TOLLGATE_SECRET          the secret of denialReferences, for why
  TOLLGATE_HASH_IDS        the secret hashIds of the limiter, if it has one
  NO_COLOR                 no colors

Exit codes:
  0  done
  1  refused, not found, or a check failed
  2  wrong usage or input
  3  Redis cannot be reached, or refuses this user

Examples:
  tollgate top                               # who is busiest, denied most, and nearest to a limit
  tollgate dashboard                         # the same and more in a browser on this machine
  tollgate show acme                         # what acme has used, and what holds for it
  tollgate why acme --at 14:03               # why acme was denied then
  tollgate block acme --for 1h --reason abuse
  tollgate doctor                            # is this Redis set up right?

tollgate COMMAND --help has the options and examples of a command.`

/**
 * Runs one command line.
 *
 * @param args without the names of the program and of Node
 * @returns what the process should end with: 0 done, 1 refused or not found, 2 wrong usage, 3 the store cannot be reached or refuses the
 *          user. It never rejects
 */
export async function run(args: readonly string[], host: Host): Promise<number> {
  let exit: ExitCode = EXIT.done
  const isQuiet = args.includes('--json')
  const program = programFor(host, { end: (code) => (exit = code), isQuiet })
  try {
    await program.parseAsync([...args], { from: 'user' })
    return exit
  } catch (error) {
    const isJson = args.includes('--json')
    if (!(error instanceof CommanderError)) return report(toCommandError(error), host, isJson)
    if (error.exitCode === 0) return EXIT.done
    // For people, commander has said it.
    return isJson ? report(new CommandError(EXIT.usage, errorLines(error.message)), host, true) : EXIT.usage
  }
}

/** Every command, in the order of the help. */
function addAll(shell: Shell): void {
  const { program } = shell
  program.commandsGroup('Look:')
  addTop(shell)
  addDashboard(shell)
  addShow(shell)
  addWhy(shell)
  addRules(shell)
  addHistory(shell)
  program.commandsGroup('Change what holds:')
  addBlocks(shell)
  addOverrides(shell)
  program.commandsGroup('Book units:')
  addBookings(shell)
  program.commandsGroup('Check:')
  addCheck(shell)
  addDoctor(shell)
}

function programFor(
  host: Host,
  { end, isQuiet }: Pick<Shell, 'end'> & { readonly isQuiet: boolean },
): Command {
  const { stdout, stderr } = host
  const widthOf = (stream: Host['stdout']): number => Math.min(stream.columns ?? 100, 110)
  const program = new Command('tollgate')
    .description(
      'Shows and changes what the rate limiter Tollgate does for customers, in a Redis that is running.',
    )
    .helpOption('-h, --help', 'show this help')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void (isQuiet || stderr.write(text)),
      outputError: (text, write) => write(`${errorLines(text)}\n`),
      getOutHelpWidth: () => widthOf(stdout),
      getErrHelpWidth: () => widthOf(stderr),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .showHelpAfterError('Add --help to see how it is used.')
    .addHelpText('after', AFTER)
  addAll({ host, program, end })
  return program
}

function report({ message, hint, exit }: CommandError, host: Host, isJson: boolean): ExitCode {
  const out = new Output(host, isJson)
  out.json({ error: { exit, message, ...(hint !== undefined && { hint }) } })
  if (!isJson) out.error(message, hint)
  return exit
}

/** Commander repeats what was typed, and asks in a line of its own whether something like it was meant. */
function errorLines(text: string): string {
  const [, said = '', question = ''] = /^(?:error: )?(.*?)(?:\n(\(Did you mean .*\)))?\n*$/s.exec(text) ?? []
  const sentence = safeText(said, 200).replace(/[.]$/, '')
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.${question === '' ? '' : ` ${safeLine(question)}`}`
}
