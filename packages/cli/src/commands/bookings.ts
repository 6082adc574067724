import type { Booking, Limiter } from '@tollgate/core'
import type { Command } from 'commander'
import { EXIT, wrong, type ExitCode } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import { counted, endInWords, lengthInWords, numberInWords } from '../output/words.js'
import { needItsPlan, type Context } from '../session/configuration.js'
import { asSubject, findPlan, type Found } from '../session/plan.js'
import type { Session } from '../session/session.js'
import { shownSubject, withGiven, type GivenFlags, type SubjectFlags } from '../session/subject.js'
import { carryOut, withChange, type ChangeFlags, type Conclusion } from './change.js'
import { addCommand, collected, withGivenOptions, withSubject, type Action, type Shell } from './command.js'
import { needEnd, withEnd, type EndFlags } from './ends.js'

type BookingFlags = ChangeFlags &
  GivenFlags &
  EndFlags & { readonly limit: string; readonly key: string; readonly units?: string }

/** What the three kinds of bookings differ in. */
interface Kind {
  readonly call: (limiter: Limiter, id: string, flags: BookingFlags) => Promise<Booking>
  readonly says: (id: string, flags: BookingFlags, session: Session) => string
  readonly undo: string
}

export function addBookings(shell: Shell): void {
  addTopUp(shell)
  addRenew(shell)
  addPenalize(shell)
  addReset(shell)
}

/** @throws {CommandError} for a text that is no whole number. Core checks the range */
function unitsOf({ units = '' }: BookingFlags): number {
  if (/^\d{1,15}$/.test(units)) return Number(units)
  throw wrong('--units', units, 'a whole number from 1 to 1000000000, such as 50000')
}

const limitOf = ({ limit }: BookingFlags): string => `its limit '${safeText(limit)}'`

function bookingCommand(command: Command): Command {
  return withGivenOptions(command)
    .requiredOption('--limit <name>', 'the name of the limit, such as month: tollgate show lists them')
    .requiredOption(
      '--key <text>',
      'what this is for, such as order-17: it counts once, so you can repeat the command',
    )
}

function book(kind: Kind): Action<BookingFlags> {
  return async (context, id = '') => {
    // The application knows the plan, where nobody names it here.
    let flags = context.flags
    let known: Found | undefined
    const findItsPlan = async (session: Session): Promise<void> => {
      const { plan, ...subject } = asSubject(withGiven(id, flags))
      known = await findPlan(session, subject)
      const { planFrom, plan: found } = known
      if (plan === undefined && found !== undefined && planFrom !== 'default')
        flags = { ...flags, plan: found }
      needItsPlan(session, flags.plan)
    }
    return carryOut<Booking>(context, {
      needsPlans: true,
      prepare: findItsPlan,
      call: (limiter) => kind.call(limiter, id, flags),
      announce: (_, session) => [
        `${kind.says(id, flags, session)} Key: ${safeText(flags.key, 200)}.`,
        ...planNote(context.flags.plan, known, id),
      ],
      conclude: (booking) => concluded(booking, flags, kind.undo),
    })
  }
}

/** On another plan, the units would be those of another limit. */
function planNote(named: string | undefined, known: Found | undefined, id: string): readonly string[] {
  const { plan, planFrom } = known ?? {}
  if (plan === undefined || planFrom === 'default') return []
  const who = shownSubject(id)
  if (named === undefined) return [`${who} is on the plan ${safeText(plan)}.`]
  if (named === plan) return []
  return [`Careful: ${who} is on the plan ${safeText(plan)}, and not on ${safeText(named)}.`]
}

function concluded({ isRepeated, limit }: Booking, { key }: BookingFlags, undo: string): Conclusion {
  const { name, remaining, quota, toppedUp, resetMs, over = 0 } = limit
  const extra = toppedUp === undefined ? '' : `, ${numberInWords(toppedUp)} of them topped up`
  const back = resetMs === 0 ? '' : ` More is back in ${lengthInWords(resetMs)}.`
  const left = `Left of ${safeText(name)}: ${counted(remaining, 'unit')}${extra}, with a quota of ${numberInWords(quota)}.${back}${over > 0 ? ` What is over the quota stays so: ${counted(over, 'unit')}.` : ''}`
  const says = isRepeated
    ? `The key ${safeText(key, 200)} was booked before, so nothing was changed now. ${left}`
    : `Done. ${left}`
  return { says, ...(!isRepeated && { undo }), json: { isRepeated, limit } }
}

function addTopUp(shell: Shell): void {
  const command = addCommand<BookingFlags>(
    shell,
    {
      usage: 'top-up <id>',
      summary: 'give a customer units beside the quota of a limit',
      about:
        'Gives a customer units beside the quota of one limit. They are used after the quota, once, until they end.',
      examples: [
        ['top-up acme --plan pro --limit month --units 50000 --for 30d --key order-17', 'what acme bought'],
      ],
    },
    book({
      call: (limiter, id, flags) =>
        limiter.topUp(withGiven(id, flags), {
          ...{ limit: flags.limit, units: unitsOf(flags), key: flags.key },
          ...needEnd(flags),
        }),
      says: (id, flags, { nowMs }) => {
        const end =
          flags.until === undefined
            ? `for ${safeText(flags.for ?? '')}`
            : `until ${endInWords(new Date(flags.until), nowMs)}`
        return `Gives ${shownSubject(id)} ${counted(unitsOf(flags), 'unit')} beside the quota of ${limitOf(flags)}, ${end}.`
      },
      undo: 'No command takes a top-up back: penalize counts units as used, and those of the quota first.',
    }),
  )
  withChange(withEnd(withSubject(bookingCommand(command).requiredOption('--units <number>', 'how many'))))
}

function addRenew(shell: Shell): void {
  const command = addCommand<BookingFlags>(
    shell,
    {
      usage: 'renew <id>',
      summary: 'begin one limit of a customer afresh',
      about:
        'Begins one limit of a customer afresh, as when it has paid. Its other limits and its top-ups stay.',
      examples: [['renew acme --plan pro --limit month --key invoice-4711', 'the month of acme']],
    },
    book({
      call: (limiter, id, { limit, key, ...flags }) => limiter.renew(withGiven(id, flags), { limit, key }),
      says: (id, { limit }) =>
        `Begins the limit '${safeText(limit)}' of ${shownSubject(id)} afresh. Its other limits stay as they are.`,
      undo: 'This cannot be undone: what was used before is forgotten.',
    }),
  )
  withChange(withSubject(bookingCommand(command)))
}

function addPenalize(shell: Shell): void {
  const command = addCommand<BookingFlags>(
    shell,
    {
      usage: 'penalize <id>',
      summary: 'count units of a customer as used',
      about:
        'Counts units as used in one limit of a customer: first those of the quota, then those of top-ups. With more units than that, it waits for one more window at most.',
      examples: [['penalize acme --plan pro --limit day --units 500 --key abuse-3', '500 units of today']],
    },
    book({
      call: (limiter, id, flags) =>
        limiter.penalize(withGiven(id, flags), { limit: flags.limit, units: unitsOf(flags), key: flags.key }),
      says: (id, flags) =>
        `Counts ${counted(unitsOf(flags), 'unit')} of ${shownSubject(id)} as used in ${limitOf(flags)}.`,
      undo: 'No command takes this back. The units come back with the window, or with renew.',
    }),
  )
  withChange(withSubject(bookingCommand(command).requiredOption('--units <number>', 'how many')))
}

type ResetFlags = ChangeFlags &
  SubjectFlags & { readonly group?: readonly string[]; readonly stacked?: readonly string[] }

async function reset(context: Context<ResetFlags>, id = ''): Promise<ExitCode> {
  const { flags } = context
  const { group = [], stacked = [] } = flags
  const shown = shownSubject(id)
  const scopes = [...group, ...stacked].map((one) => safeText(one)).join(', ')
  return carryOut<boolean>(context, {
    call: async (limiter) => {
      for (const one of group) limiter.scope({ group: one })
      // A limiter finds the counters of a stacked limit by its name. How much it allows does not matter here.
      for (const one of stacked) limiter.scope({ stacked: { [one]: '1/s' } })
      return limiter.reset(withGiven(id, flags))
    },
    announce: () => [
      `Forgets all that ${shown} used of its plan${scopes === '' ? '' : ` and of ${scopes}`}, its top-ups, and the keys of its bookings.`,
      ...(scopes === '' ? ['Groups and stacked limits stay: name them with --group and --stacked.'] : []),
    ],
    conclude: (wasAny) =>
      wasAny
        ? { says: `Done. ${shown} has used nothing.`, undo: 'This cannot be undone.', json: { reset: true } }
        : { exit: EXIT.refused, says: `There was nothing to forget of ${shown}.`, json: { reset: false } },
  })
}

function addReset(shell: Shell): void {
  const command = addCommand<ResetFlags>(
    shell,
    {
      usage: 'reset <id>',
      summary: 'forget all that a customer used, and its top-ups',
      about:
        'Forgets all that a customer used, its top-ups, and the keys of its bookings. Rules stay. Requests in flight keep their slots. To give a fresh quota of one limit only, use renew.',
      examples: [
        ['reset acme', 'the limits of its plan'],
        ['reset acme --group exports --stacked login', 'also this group and this stacked limit'],
      ],
    },
    reset,
  )
  command
    .option('--group <name>', 'also the counters of this group; repeat it for several', collected)
    .option('--stacked <name>', 'also this stacked limit; repeat it for several', collected)
  withChange(withSubject(command))
}
