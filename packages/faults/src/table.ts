import { figuresOf, type Run, type Times } from './figures.ts'
import { FLOODING, GOOD } from './settings.ts'
import { clientOf, planOf } from './stores/store.ts'

/** The columns of the table in order, with their titles. */
const HEAD = {
  fault: 'fault',
  policy: 'policy',
  client: 'framework, client',
  answers: 'answers',
  before: 'p50 / p99 / max before the breaker opens, ms',
  open: 'while it is open',
  seen: 'as clients saw it',
  unanswered: 'no answer',
  flooding: 'flooding tenant over its plan outside / during',
  good: 'good ones',
  back: 'back after, ms',
  wrong: 'wrong',
} as const
const COLUMNS = Object.keys(HEAD) as Column[]

type Column = keyof typeof HEAD
/** One run as a row of the table: a text for each column. */
export type Row = Readonly<Record<Column, string>>

const NOTHING = 'nothing'

export function rowOf(run: Run, wrong: readonly string[]): Row {
  const { byStatus, before, open, client, backMs, most } = figuresOf(run)
  const { 0: unanswered = 0, ...answered } = byStatus
  const over = (who: string): [outside: number, during: number] => {
    const bound = run.store.mostOf(planOf(run.store, who)?.quota ?? 0)
    const { outside = 0, ever = 0 } = most[who] ?? {}
    return [Math.max(0, outside - bound), Math.max(0, ever - bound)]
  }
  const good = GOOD.map(over)
  return {
    fault: run.fault.name,
    policy: run.policy,
    client: `${run.framework}, ${clientOf(run.store, run.fault, run.framework)}`,
    answers: Object.entries(answered)
      .map(([status, count]) => `${count} x ${status}`)
      .join(', '),
    before: show(before),
    open: show(open),
    seen: show(client),
    unanswered: String(unanswered),
    flooding: over(FLOODING).join(' / '),
    good: `${Math.max(...good.map(([outside]) => outside))} / ${Math.max(...good.map(([, during]) => during))}`,
    back: run.fault.isForGood ? '' : (backMs?.toFixed(0) ?? 'never'),
    wrong: wrong.length === 0 ? NOTHING : wrong.join('; '),
  }
}

function show({ count, p50, p99, max }: Times): string {
  return count === 0 ? '' : [p50, p99, max].map((ms) => ms.toFixed(ms < 10 ? 1 : 0)).join(' / ')
}

/** The title line of the table, and the line below it. */
export function head(): string {
  return `${tableLine(Object.values(HEAD))}\n${tableLine(COLUMNS.map(() => '---'))}`
}

export function lineOf(row: Row): string {
  return tableLine(COLUMNS.map((column) => row[column]))
}

/** Reads the rows back from a text that contains one table. */
export function rowsIn(page: string): Row[] {
  const [, table = ''] = page.split(`${head()}\n`)
  const [lines = ''] = table.split('\n\n')
  return lines
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => {
      const cells = line.slice(1, -1).split(' | ')
      return Object.fromEntries(COLUMNS.map((column, i) => [column, (cells[i] ?? '').trim()])) as Row
    })
}

/** @returns the number of rules that a run broke */
export function brokenIn({ wrong }: Row): number {
  return wrong === NOTHING ? 0 : wrong.split('; ').length
}

export function tableLine(cells: readonly string[]): string {
  // The error output of a crashed process can have several lines, which would break the table.
  return `| ${cells.join(' | ').replaceAll('\n', ' ')} |`
}
