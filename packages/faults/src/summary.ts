// Makes the summary of a whole run: a table with one line for each fault.
import { brokenIn, tableLine, type Row } from './table.ts'

/** The summary of a store in docs/operations/faults.md stands between these two comments. */
const beginOf = (title: string): string =>
  `<!-- ${title}: written by npm run faults, from packages/faults/RESULTS.md: do not edit. -->`
const END = '<!-- End of what is written. -->'

const HEAD = [
  'fault',
  'runs',
  'requests',
  'unanswered',
  'p99 before open, ms',
  'p99 while open, ms',
  'over plan',
  'over plan, `open`',
  'back, ms',
  'rules broken',
]

/** @returns a markdown table with a line for each fault, and a last line for all of them */
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

/**
 * Replaces the summary of a store in the text of docs/operations/faults.md.
 *
 * @throws when the comments around the summary are missing
 */
export function withSummary(page: string, title: string, summary: string): string {
  const begin = beginOf(title)
  const from = page.indexOf(begin)
  const to = page.indexOf(END, from)
  if (from < 0 || to < 0)
    throw new Error(`docs/operations/faults.md needs these two lines around the summary:\n${begin}\n${END}`)
  return `${page.slice(0, from)}${begin}\n\n${summary}\n\n${page.slice(to)}`
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

/** Counts all requests of a run: those with an answer of any status, and those without an answer. */
function requestsOf({ answers, unanswered }: Row): number {
  const answered = [...answers.matchAll(/(\d+) x \d+/g)].map(([, count]) => Number(count))
  return sum(answered) + Number(unanswered)
}

/** Reads a number of a cell such as `1 / 2 / 3`, by its index; undefined when the cell is empty. */
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
