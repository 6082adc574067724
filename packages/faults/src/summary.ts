// The table of a whole run in short: a line for each fault.
import { brokenIn, tableLine, type Row } from './table.ts'

/** The comments between which the summary stands on docs/faults.md. */
const BEGIN = '<!-- Written by npm run faults, from packages/faults/RESULTS.md: do not edit. -->'
const END = '<!-- End of what is written. -->'

const HEAD = [
  'fault',
  'runs',
  'requests',
  'without an answer',
  'slowest p99 before the breaker opens, ms',
  'slowest p99 while it is open, ms',
  'units over a plan',
  'units over a plan under `open`, in the fault',
  'back after at most, ms',
  'rules broken',
]

/** A line for each fault, and one for all of them, as a markdown table. */
export function summaryOf(rows: readonly Row[]): string {
  const faults = [...new Set(rows.map(({ fault }) => fault))]
  return [
    tableLine(HEAD),
    tableLine(HEAD.map(() => '---')),
    ...faults.map((name) =>
      summaryLine(
        name,
        rows.filter(({ fault }) => fault === name),
      ),
    ),
    summaryLine('**all**', rows),
  ].join('\n')
}

/** The page with this summary in the place of the one it has. */
export function withSummary(page: string, summary: string): string {
  const [before, rest] = page.split(BEGIN)
  const [, after] = rest?.split(END) ?? []
  if (before === undefined || after === undefined)
    throw new Error(`docs/faults.md needs these two lines around the summary:\n${BEGIN}\n${END}`)
  return `${before}${BEGIN}\n\n${summary}\n\n${END}${after}`
}

function summaryLine(name: string, rows: readonly Row[]): string {
  const underOpen = rows.filter(({ policy }) => policy === 'open')
  const others = rows.filter(({ policy }) => policy !== 'open')
  const outside = rows.flatMap(({ flooding, good }) => [numberAt(flooding, 0), numberAt(good, 0)])
  const during = others.flatMap(({ flooding, good }) => [numberAt(flooding, 1), numberAt(good, 1)])
  return tableLine([
    name,
    String(rows.length),
    String(sum(rows.map(requestsOf))),
    String(sum(rows.map(({ unanswered }) => Number(unanswered)))),
    most(rows.map(({ before }) => numberAt(before, 1))),
    most(rows.map(({ open }) => numberAt(open, 1))),
    most([...outside, ...during]),
    most(underOpen.flatMap(({ flooding, good }) => [numberAt(flooding, 1), numberAt(good, 1)])),
    rows.some(({ back }) => back === 'never') ? 'never' : most(rows.map(({ back }) => numberAt(back, 0))),
    String(sum(rows.map(brokenIn))),
  ])
}

/** Of every status, and those that had no answer. */
function requestsOf({ answers, unanswered }: Row): number {
  const answered = [...answers.matchAll(/(\d+) x \d+/g)].map(([, count]) => Number(count))
  return sum(answered) + Number(unanswered)
}

/** One of the numbers that stand in a cell with slashes between; undefined where the cell is empty. */
function numberAt(cell: string, index: number): number | undefined {
  const text = cell.split(' / ')[index]
  return text ? Number(text) : undefined
}

function most(numbers: readonly (number | undefined)[]): string {
  const known = numbers.filter((number) => number !== undefined)
  return known.length === 0 ? '' : String(Math.max(...known))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
