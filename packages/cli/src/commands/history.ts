import type { RuleRecord } from '@tollgate/core'
import { EXIT } from '../errors.js'
import { safeText } from '../output/safe-text.js'
import { counted, timeInWords } from '../output/words.js'
import { configure, type SharedFlags } from '../session/configuration.js'
import { needHashIds, withSession } from '../session/session.js'
import { shownSubject, subjectOf, type SubjectFlags } from '../session/subject.js'
import { addCommand, withConnection, withSubject, type Shell } from './command.js'
import { effectOf } from './rule-words.js'

export function addHistory(shell: Shell): void {
  const command = addCommand<SharedFlags & SubjectFlags>(
    shell,
    {
      usage: 'history [id]',
      summary: 'list the rules that were set and lifted: when, by whom, and why',
      about:
        'Lists the rules that were set, replaced and lifted, the latest first: 1000 changes, of at most 400 days. A rule that ended by itself is not a change.',
      examples: [
        ['history', 'all changes'],
        ['history acme', 'changes of rules about acme'],
      ],
    },
    async (context, id) => {
      const { out, flags } = context
      const of = id === undefined ? undefined : subjectOf(id, flags)
      const configuration = await configure(context)
      return withSession(context, configuration, async (session) => {
        const { limiter, nowMs } = session
        if (id !== undefined) await needHashIds(session)
        const records = await limiter.ruleLog(of === undefined ? {} : { of })
        out.json({ changes: records })
        if (out.isJson) return EXIT.done
        const about = id === undefined ? '' : ` about ${shownSubject(id)}`
        if (records.length === 0)
          out.line(`No change of a rule${about} is known. Units that were given are not rules.`)
        else {
          out.table(
            COLUMNS,
            records.map((record) => cellsOf(record, nowMs)),
          )
          out.line()
          out.line(`${counted(records.length, 'change')} of rules${about}.`)
        }
        return EXIT.done
      })
    },
  )
  withConnection(withSubject(command))
}

const COLUMNS = [
  { title: 'AT (UTC)' },
  { title: 'CHANGE' },
  { title: 'RULE', narrow: 'wrap' },
  { title: 'OF', narrow: 'cut' },
  { title: 'UNTIL (UTC)' },
  { title: 'BY', narrow: 'cut' },
  { title: 'REASON', narrow: 'wrap' },
] as const

function cellsOf(record: RuleRecord, nowMs: number): readonly string[] {
  const { at, action, of, until, by, reason } = record
  const [when, end] = [at, until].map((time) => timeInWords(time, nowMs).replace(/ UTC$/, ''))
  return [
    when ?? '',
    action,
    effectOf(record),
    safeText(of),
    // Where a rule was lifted, its end no longer matters.
    action === 'lifted' ? '' : (end ?? ''),
    safeText(by ?? '', 40),
    safeText(reason ?? '', 200),
  ]
}
