// The report for a terminal.
import { digits } from './figures.mjs'
import { judge, LIMIT } from '../goals.mjs'
import { LAYOUT } from '../layouts/layout.mjs'
import { sectionTables, table } from '../tables.mjs'

/** @param run as it is published */
export function textOf(run) {
  const { machine, date, pace, seconds, stopped } = run
  const parts = [
    `${date}, ${pace}, ${seconds} s${stopped ? ', stopped before its end' : ''}: ${machine.cores} cores (${machine.cpu}), load ${machine.load.toFixed(1)} at the start, Node ${machine.node}, Redis ${machine.redis}`,
  ]
  for (const [name, layout] of Object.entries(LAYOUT)) {
    const tables = sectionTables(run, name, layout)
    if (tables) parts.push(`## ${layout.title} (${name})`, tables)
  }
  const goals = judge(run).filter(({ verdict }) => verdict !== 'not measured')
  const rows = goals.map(({ what, detail, sign, bound, value, verdict, limitText = '' }) => [
    ...[
      `${what}: ${detail}`,
      bound === undefined ? '' : `${sign} ${bound}`,
      value === undefined ? '' : digits(value),
      verdict,
      limitText,
    ],
  ])
  if (rows.length > 0) parts.push('## To reach', table(['what', 'goal', 'measured', '', LIMIT], rows))
  return `${parts.join('\n\n')}\n`
}
