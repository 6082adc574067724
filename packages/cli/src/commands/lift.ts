import { findRules } from '@tollgate/admin'
import type { Rule } from '@tollgate/core'
import { EXIT, wrong, type ExitCode } from '../errors.js'
import { endInWords } from '../output/words.js'
import type { Context } from '../session/configuration.js'
import { shownSubject, subjectOf, withGiven, type SubjectFlags } from '../session/subject.js'
import {
  carryOut,
  noteOf,
  shownNote,
  withChange,
  withNote,
  type ChangeFlags,
  type NoteFlags,
} from './change.js'
import { addCommand, withSubject, type Shell } from './command.js'
import { effectOf, ruleJson } from './rule-words.js'

const KINDS = ['block', 'override', 'scale'] as const

type LiftFlags = ChangeFlags & NoteFlags & SubjectFlags

async function lift(context: Context<LiftFlags>, kind = '', of = ''): Promise<ExitCode> {
  const { flags } = context
  const wanted = KINDS.find((one) => one === kind)
  if (!wanted) throw wrong('KIND', kind, 'block, override or scale')
  const note = noteOf(flags)
  const shown = `${wanted} of ${wanted === 'scale' ? 'the plan ' : ''}${shownSubject(of)}`
  return carryOut<readonly Rule[]>(context, {
    isOfPlan: wanted === 'scale',
    // In memory there are no rules: only the subject is checked there.
    call: async (limiter) => {
      const rules = await findRules(limiter, wanted, wanted === 'scale' ? of : subjectOf(of, flags))
      for (const rule of rules) await rule.lift(note)
      return rules
    },
    announce: async (_, { limiter, nowMs }) => {
      const rules = await findRules(limiter, wanted, wanted === 'scale' ? of : subjectOf(of, flags))
      return rules.map(
        (rule) =>
          `Ends the ${shown}: ${effectOf(rule)} until ${endInWords(rule.until, nowMs)}. ${shownNote(note)}`,
      )
    },
    conclude: (lifted) =>
      lifted.length > 0
        ? { says: `Done. The ${shown} is over.`, json: { lifted: lifted.map(ruleJson) } }
        : {
            exit: EXIT.refused,
            says: `There is no ${shown}. tollgate rules lists all rules.`,
            json: { lifted: [] },
          },
  })
}

export function addLift(shell: Shell): void {
  const command = addCommand<LiftFlags>(
    shell,
    {
      usage: 'lift <kind> <of>',
      summary: 'end a rule: lift override acme, lift scale free, lift block acme',
      about: 'Ends a rule now, in all processes within about a second. `tollgate rules` lists them.',
      examples: [
        ['lift override acme', 'acme has the limits of its plan again'],
        ['lift scale free --reason over', 'the plan free has its limits again'],
      ],
    },
    lift,
  )
  withChange(withNote(withSubject(command)))
}

export function addForgetPlan(shell: Shell): void {
  const command = addCommand<ChangeFlags & SubjectFlags>(
    shell,
    {
      usage: 'forget-plan <id>',
      summary: "make all processes look up a customer's plan again",
      about:
        'Makes all processes ask planOf again for a customer, within about a second. Do it after its plan changed in your database.',
      examples: [['forget-plan acme', 'after an upgrade of acme']],
    },
    async (context, id = '') => {
      const shown = shownSubject(id)
      return carryOut<void>(context, {
        call: (limiter) => limiter.forgetPlan(withGiven(id, context.flags), { everywhere: true }),
        announce: () => [`Makes all processes look up the plan of ${shown} again.`],
        conclude: () => ({
          says: `Done. The next request of ${shown} in each process asks for its plan, within about a second.`,
          undo: 'There is nothing to undo.',
          json: { forgotten: true },
        }),
      })
    },
  )
  withChange(withSubject(command))
}
