import { hostname, userInfo } from 'node:os'
import { createInterface } from 'node:readline/promises'
import type { Command } from 'commander'
import { CommandError, EXIT, toCommandError, type ExitCode } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import type { Limiter } from '@tollgate/core'
import {
  configure,
  needPlan,
  withPlansOfStore,
  type Context,
  type SharedFlags,
} from '../session/configuration.js'
import { saysPlan } from '../session/plan.js'
import {
  explained,
  isAlive,
  isOfStore,
  needHashIds,
  UNSEEN,
  withSession,
  type Session,
} from '../session/session.js'
import { withConnection } from './command.js'

/** Options of all commands that change something. */
export interface ChangeFlags extends SharedFlags {
  readonly yes?: boolean
  readonly dryRun?: boolean
}

/** Who changes a rule, and why. */
export interface NoteFlags {
  readonly by?: string
  readonly reason?: string
}

/** A change, from its announcement to its result. */
export interface Change<T> {
  /** Plans that must exist. As long as no plans are known, nobody can check that. */
  readonly plans?: readonly string[]
  /** Whether it is about a plan, and names no customer. */
  readonly isOfPlan?: boolean
  /** Whether the call is about limits of the application's plans. */
  readonly needsPlans?: boolean
  /** Called once Redis is there, before the call. */
  readonly prepare?: (session: Session) => Promise<void>
  /** The call itself. It is made twice: with a limiter in memory, which refuses what is wrong, and then with the real one. */
  readonly call: (limiter: Limiter) => Promise<T>
  /** What it will do, in sentences. `planned` is what the limiter in memory answered. */
  readonly announce: (planned: T, session: Session) => Promise<readonly string[]> | readonly string[]
  /** What it did. */
  readonly conclude: (result: T, session: Session) => Conclusion
}

export interface Conclusion {
  readonly exit?: ExitCode
  readonly says: string
  /** The command that takes it back, or a sentence if there is none. */
  readonly undo?: string
  readonly json: Readonly<Record<string, unknown>>
}

/** The options of commands that change something. */
export function withChange(command: Command): Command {
  return withConnection(
    command.option('--yes', 'do not ask on a terminal').option('--dry-run', 'only say what would be done'),
  )
}

/** The options that say who does it, and why. */
export function withNote(command: Command): Command {
  return command
    .option('--reason <text>', 'why: other operators see it in `tollgate rules`')
    .option('--by <name>', `who does this (default: ${whoami()})`)
}

export function noteOf({ by, reason }: NoteFlags): { readonly by: string; readonly reason?: string } {
  return { by: by ?? whoami(), ...(reason !== undefined && { reason }) }
}

/** The user of the operating system at this host. */
function whoami(): string {
  try {
    return `${userInfo().username}@${hostname()}`.slice(0, 200)
  } catch {
    // A container can run as a user without a name.
    return `uid ${process.getuid?.() ?? 'unknown'}@${hostname()}`.slice(0, 200)
  }
}

export function shownNote({ by, reason }: NoteFlags): string {
  const why = reason === undefined ? '' : `Reason: ${safeText(reason, 200)}. `
  return `${why}By: ${safeText(by ?? '', 200)}.`
}

/**
 * Says what will be done, asks on a terminal, does it, and says how to undo it.
 *
 * In a pipe nobody is asked: nobody could answer, and who writes a script has decided.
 */
export async function carryOut<T>(context: Context<ChangeFlags>, change: Change<T>): Promise<ExitCode> {
  const { plans = [], needsPlans = false, call } = change
  const configuration = await configure(context, plans)
  const { plan } = context.flags as { readonly plan?: string }
  const isComplete = configuration.plans !== undefined || (!needsPlans && plans.length === 0)
  if (needsPlans && isComplete) needPlan(configuration, plan)
  // What is wrong is refused before Redis is asked.
  if (isComplete && (!needsPlans || plan !== undefined || saysPlan(configuration)))
    await configuration.rehearse(call)
  const act = (session: Session): Promise<ExitCode> => changeIn(session, context, change)
  return withSession(context, configuration, act, isComplete ? {} : { complete: withPlansOfStore })
}

async function changeIn<T>(
  session: Session,
  context: Context<ChangeFlags>,
  { plans = [], isOfPlan = false, prepare, call, announce, conclude }: Change<T>,
): Promise<ExitCode> {
  const { out, flags } = context
  if (!isOfPlan) await needHashIds(session)
  await prepare?.(session)
  const planned = await session.rehearse(call, session.nowMs)
  for (const line of await announce(planned, session)) out.note(line)
  if (!(await isAlive(session))) out.note(UNSEEN)
  if (plans.length > 0 && !session.plans)
    out.note('The plans of the application are not known here, so nobody has checked that this plan exists.')
  if (flags.dryRun) {
    out.note('Nothing was changed: this was a dry run.')
    out.json({ done: false, dryRun: true })
    return EXIT.done
  }
  if (!(await isWanted(context))) {
    out.note('Nothing was changed.')
    out.json({ done: false, dryRun: false })
    return EXIT.refused
  }
  const { exit = EXIT.done, says, undo, json } = conclude(await called(session, call), session)
  const undoing = undo?.startsWith('tollgate') ? { undo } : {}
  out.say(says)
  if (undo !== undefined) out.line(undoing.undo ? `To undo it: ${undo}` : undo)
  out.json({ done: exit === EXIT.done, dryRun: false, ...json, ...undoing })
  return exit
}

/** @throws {CommandError} when nobody knows whether it was done */
async function called<T>({ limiter, address }: Session, call: (limiter: Limiter) => Promise<T>): Promise<T> {
  try {
    return await call(limiter)
  } catch (error) {
    if (!isOfStore(error) || limiter.health().rules === 'off') throw error
    const { message } = toCommandError(explained(error, address))
    throw new CommandError(
      EXIT.store,
      `${message} It may have been done all the same.`,
      'Look before you repeat it: tollgate rules lists the rules, and tollgate show ID the units.',
    )
  }
}

async function isWanted({ host, flags }: Context<ChangeFlags>): Promise<boolean> {
  const { stdin, stdout, stderr } = host
  if (flags.yes || !stdin.isTTY || !stdout.isTTY) return true
  const asking = createInterface({ input: stdin, output: stderr })
  try {
    return /^y(es)?$/i.test((await asking.question('Do it? [y/N] ')).trim())
  } catch {
    // Ctrl-C and Ctrl-D are a no.
    return false
  } finally {
    asking.close()
  }
}
