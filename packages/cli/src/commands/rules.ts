import type { Rule } from '@tollgate/core'
import { EXIT } from '../errors.js'
import { counted } from '../output/words.js'
import { configure, type SharedFlags } from '../session/configuration.js'
import { needHashIds, withSession } from '../session/session.js'
import { shownSubject, subjectOf, type SubjectFlags } from '../session/subject.js'
import { addCommand, withConnection, withSubject, type Shell } from './command.js'
import { RULE_COLUMNS, ruleCells, ruleJson } from './rule-words.js'

export function addRules(shell: Shell): void {
  const command = addCommand<SharedFlags & SubjectFlags>(
    shell,
    {
      usage: 'rules [id]',
      summary: 'list the rules that hold now: who set each, why, and until when',
      examples: [
        ['rules', 'all rules'],
        ['rules acme', 'those that apply to acme, with blocks that came by themselves'],
        ["rules 'trial-*'", 'those about this beginning of ids'],
      ],
    },
    async (context, id) => {
      const { out, flags } = context
      const of = id === undefined ? undefined : subjectOf(id, flags)
      const configuration = await configure(context)
      return withSession(context, configuration, async (session) => {
        const { limiter, nowMs } = session
        if (id !== undefined) await needHashIds(session)
        const rules: Rule[] = []
        for await (const rule of limiter.rules(of === undefined ? {} : { of })) rules.push(rule)
        out.json({ rules: rules.map(ruleJson) })
        if (out.isJson) return EXIT.done
        const about = id === undefined ? '' : ` for ${shownSubject(id)}`
        if (rules.length === 0) out.line(`There are no rules${about}.`)
        else {
          out.table(
            RULE_COLUMNS,
            rules.map((rule) => ruleCells(rule, nowMs)),
          )
          out.line()
          out.line(`${counted(rules.length, 'rule')}${about}.`)
        }
        return EXIT.done
      })
    },
  )
  withConnection(withSubject(command))
}
