import { findRules } from '@tollgate/admin'
import type { Rule, Subject } from '@tollgate/core'
import { EXIT } from '../errors.js'
import { endInWords } from '../output/words.js'
import { commandLine, type Session } from '../session/session.js'
import { shownSubject, subjectOf, type SubjectFlags } from '../session/subject.js'
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
import { needEnd, withEnd, type EndFlags } from './ends.js'
import { effectOf, ruleJson } from './rule-words.js'

type BlockFlags = ChangeFlags & NoteFlags & SubjectFlags & EndFlags

/** Words of a command line that mean the same subject again. */
export function wordsOf(id: string, { ip, exact }: SubjectFlags): readonly string[] {
  return [...(id.startsWith('-') ? ['--', id] : [id]), ...(ip ? ['--ip'] : []), ...(exact ? ['--exact'] : [])]
}

/** The rule of this kind that a new one replaces, as a sentence. */
export async function replacedBy(
  { limiter, nowMs }: Session,
  kind: Rule['kind'],
  of: Subject | string,
): Promise<readonly string[]> {
  const rule = (await findRules(limiter, kind, of)).find(({ level }) => level === undefined)
  if (!rule) return []
  return [
    `It replaces: ${effectOf(rule)} until ${endInWords(rule.until, nowMs)}. ${shownNote(rule)} It does not come back when the new one ends.`,
  ]
}

export function addBlocks(shell: Shell): void {
  addBlock(shell)
  addUnblock(shell)
}

function addBlock(shell: Shell): void {
  const command = addCommand<BlockFlags>(
    shell,
    {
      usage: 'block <id>',
      summary: 'deny all requests of a customer for a while',
      about:
        "Denies all requests of a customer until then, in all processes within about a second. An id with '*' at its end means all ids that begin like it.",
      examples: [
        ['block acme --for 1h --reason abuse', 'for an hour'],
        ["block 'trial-*' --until 2027-01-31T18:00:00Z", 'all ids that begin with trial-'],
        ['block 203.0.113.7 --ip --for 1d', "a client's address"],
      ],
    },
    async (context, id = '') => {
      const { flags } = context
      const end = needEnd(flags)
      const subject = subjectOf(id, flags)
      const [shown, note] = [shownSubject(id), noteOf(flags)]
      return carryOut<Rule>(context, {
        call: (limiter) => limiter.block(subject, { ...end, ...note }),
        announce: async ({ until }, session) => [
          `Blocks ${shown} until ${endInWords(until, session.nowMs)}. ${shownNote(note)}`,
          ...(await replacedBy(session, 'block', subject)),
        ],
        conclude: (rule, { nowMs }) => ({
          says: `Done. ${shown} is blocked until ${endInWords(rule.until, nowMs)}, in all processes within about a second.`,
          undo: commandLine(flags, 'unblock', ...wordsOf(id, flags)),
          json: { rule: ruleJson(rule) },
        }),
      })
    },
  )
  withChange(withNote(withEnd(withSubject(command))))
}

function addUnblock(shell: Shell): void {
  const command = addCommand<ChangeFlags & NoteFlags & SubjectFlags>(
    shell,
    {
      usage: 'unblock <id>',
      summary: "end a customer's block, also one that came by itself",
      about:
        "Ends the block of a customer: the one that was set for it, and those that came by themselves after too many denials. A block of a beginning, such as 'ac*', goes on.",
      examples: [
        ['unblock acme --reason paid', 'all blocks of acme'],
        ["unblock 'trial-*'", 'the block of this beginning of ids'],
      ],
    },
    async (context, id = '') => {
      const { flags } = context
      const subject = subjectOf(id, flags)
      const [shown, note] = [shownSubject(id), noteOf(flags)]
      return carryOut<boolean>(context, {
        call: (limiter) => limiter.unblock(subject, note),
        announce: () => [`Ends the block of ${shown}. ${shownNote(note)}`],
        conclude: (wasBlocked) =>
          wasBlocked
            ? { says: `Done. ${shown} is not blocked any more.`, json: { unblocked: true } }
            : {
                exit: EXIT.refused,
                says: `There was no block of ${shown}. tollgate rules lists all rules.`,
                json: { unblocked: false },
              },
      })
    },
  )
  withChange(withNote(withSubject(command)))
}
