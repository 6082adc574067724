import type { Rule } from '@tollgate/core'
import { CommandError, EXIT, wrong, type ExitCode } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import { endInWords, numberInWords } from '../output/words.js'
import type { Context } from '../session/configuration.js'
import { commandLine } from '../session/session.js'
import { shownSubject, subjectOf, type SubjectFlags } from '../session/subject.js'
import { replacedBy, wordsOf } from './blocks.js'
import {
  carryOut,
  noteOf,
  shownNote,
  withChange,
  withNote,
  type ChangeFlags,
  type NoteFlags,
} from './change.js'
import { addCommand, collected, withSubject, type Shell } from './command.js'
import { needEnd, withEnd, type EndFlags } from './ends.js'
import { addForgetPlan, addLift } from './lift.js'
import { limitsInWords, ruleJson } from './rule-words.js'

interface FactorFlags {
  readonly factor?: string
  readonly concurrentFactor?: string
}

type OverrideFlags = ChangeFlags &
  NoteFlags &
  SubjectFlags &
  EndFlags &
  FactorFlags & { readonly limit?: readonly string[]; readonly plan?: string }

export function addOverrides(shell: Shell): void {
  addOverride(shell)
  addScale(shell)
  addLift(shell)
  addForgetPlan(shell)
}

/** @throws {CommandError} for a text that is no number. Core checks the range */
function numberOf(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined
  if (/^\d+(\.\d+)?$|^\.\d+$/.test(given)) return Number(given)
  throw wrong(option, given, 'a number from 0.001 to 1000, such as 2 or 0.5')
}

function factorsOf({ factor, concurrentFactor }: FactorFlags): Pick<Rule, 'factor' | 'concurrentFactor'> {
  const [all, atATime] = [numberOf('--factor', factor), numberOf('--concurrent-factor', concurrentFactor)]
  return {
    ...(all !== undefined && { factor: all }),
    ...(atATime !== undefined && { concurrentFactor: atATime }),
  }
}

/** What an override gives, as the end of "Gives acme ...". */
function gift({ limits, plan, factor, concurrentFactor }: Rule): string {
  const base =
    plan !== undefined
      ? `the limits of the plan ${safeText(plan)}`
      : limits === undefined
        ? 'its limits'
        : `the limits ${limitsInWords(limits)}`
  const all = factor === undefined ? '' : ` times ${numberInWords(factor)}`
  const atATime =
    concurrentFactor === undefined
      ? ''
      : ` with ${numberInWords(concurrentFactor)} times as many requests at a time`
  return `${base}${all}${atATime}`
}

/** What the options give, as core takes it. */
function givenBy(flags: OverrideFlags): Pick<Rule, 'factor' | 'concurrentFactor' | 'plan' | 'limits'> {
  const { limit, plan } = flags
  const limits = limit?.length === 1 && limit[0] === 'unlimited' ? 'unlimited' : limit
  const given = { ...factorsOf(flags), ...(limits && { limits }), ...(plan !== undefined && { plan }) }
  if (Object.keys(given).length > 0) return given
  const hint = 'Pass --factor 2, --limit 5000/min or --plan pro.'
  throw new CommandError(EXIT.usage, 'It is not said what the customer gets.', hint)
}

async function override(context: Context<OverrideFlags>, id = ''): Promise<ExitCode> {
  const { flags } = context
  const [given, end] = [givenBy(flags), needEnd(flags)]
  const subject = subjectOf(id, flags)
  const [shown, note] = [shownSubject(id), noteOf(flags)]
  return carryOut<Rule>(context, {
    ...(flags.plan !== undefined && { plans: [flags.plan] }),
    call: (limiter) => limiter.override(subject, { ...given, ...end, ...note }),
    announce: async (rule, session) => [
      `Gives ${shown} ${gift(rule)} until ${endInWords(rule.until, session.nowMs)}. ${shownNote(note)}`,
      ...(await replacedBy(session, 'override', subject)),
    ],
    conclude: (rule, { nowMs }) => ({
      says: `Done. ${shown} has ${gift(rule)} until ${endInWords(rule.until, nowMs)}, in all processes within about a second.`,
      undo: commandLine(flags, 'lift', 'override', ...wordsOf(id, flags)),
      json: { rule: ruleJson(rule) },
    }),
  })
}

function addOverride(shell: Shell): void {
  const command = addCommand<OverrideFlags>(
    shell,
    {
      usage: 'override <id>',
      summary: 'give a customer other limits for a while',
      about:
        'Multiplies the limits of a customer, or replaces them, in all processes within about a second. What it has used still counts.',
      examples: [
        ['override acme --factor 2 --until 2027-01-29T18:00:00Z', 'twice its limits'],
        ['override acme --limit 5000/min --limit 1000000/month --for 7d', 'these limits instead'],
        ['override acme --plan pro --for 14d --reason trial', 'the limits of another plan'],
      ],
    },
    override,
  )
  command
    .option('--factor <number>', 'what its limits are multiplied by, from 0.001 to 1000')
    .option('--concurrent-factor <number>', "the same for limits such as '5 concurrent'")
    .option('--limit <limit>', 'a limit instead of those of its plan; repeat it for several', collected)
    .option('--plan <name>', 'the plan whose limits it gets')
  withChange(withNote(withEnd(withSubject(command))))
}

type ScaleFlags = ChangeFlags & NoteFlags & EndFlags & Pick<FactorFlags, 'concurrentFactor'>

async function scale(context: Context<ScaleFlags>, plan = '', given?: string): Promise<ExitCode> {
  const { flags } = context
  const { factor = 0, ...more } = factorsOf({ ...flags, factor: given as string })
  const end = needEnd(flags)
  const [shown, note] = [safeText(plan), noteOf(flags)]
  return carryOut<Rule>(context, {
    plans: [plan],
    isOfPlan: true,
    call: async (limiter) => {
      try {
        return await limiter.scale(plan, factor, { ...more, ...end, ...note })
      } catch (error) {
        const { path, message } = error as Error & { readonly path?: unknown }
        if (path !== 'plan') throw error
        throw new CommandError(EXIT.usage, `${safeText(message.replace(/^plan/, 'PLAN'), 600)}.`)
      }
    },
    announce: ({ until }, { nowMs }) => [
      `Multiplies the limits of the plan ${shown} by ${numberInWords(factor)} until ${endInWords(until, nowMs)}, for all its customers. ${shownNote(note)}`,
      ...('concurrentFactor' in more ? [] : ['Its limits of requests in flight stay as they are.']),
    ],
    conclude: (rule, { nowMs }) => ({
      says: `Done. The limits of the plan ${shown} are multiplied by ${numberInWords(factor)} until ${endInWords(rule.until, nowMs)}.`,
      undo: commandLine(flags, 'lift', 'scale', plan),
      json: { rule: ruleJson(rule) },
    }),
  })
}

function addScale(shell: Shell): void {
  const command = addCommand<ScaleFlags>(
    shell,
    {
      usage: 'scale <plan> <factor>',
      summary: 'multiply the limits of a plan for a while, for all its customers',
      examples: [
        ["scale free 0.5 --for 1h --reason 'incident 4711'", 'half of the limits of the plan free'],
        ['scale pro 2 --until 2027-01-29T18:00:00Z', 'twice those of pro'],
      ],
    },
    scale,
  )
  command.option('--concurrent-factor <number>', "the same for limits such as '5 concurrent'")
  withChange(withNote(withEnd(command)))
}
