// Markdown tables of a run, as layout.mjs lays them out.
import { paired } from '../kit/statistics.mjs'
import { isOurs } from '../names.mjs'
import { controlOf, digits, spread, summary } from './words/figures.mjs'

/** @param {number} [texts] how many columns, from the first, are texts and not numbers */
export function table(head, rows, texts = 1) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  const rule = head.map((_, i) => (i < texts ? '---' : '---:'))
  return [line(head), line(rule), ...rows.map(line)].join('\n')
}

/**
 * The tables of a section with their titles and what the control says; an empty text if it was not measured. A table that
 * is too noisy to judge is a line.
 */
export function sectionTables(run, name, { tables, placement }, level = '###') {
  const { grids, error, noise = {}, tries, placement: reached } = run.sections[name] ?? {}
  if (error) return `This section failed: ${error.split('\n')[0]}`
  if (!grids) return ''
  const texts = tables
    .filter(({ grid }) => grids[grid] ?? noise[grid])
    .map((layout) => {
      const { grid, title, reference } = layout
      const text = noise[grid]
        ? leftOut(againstItself(reference, noise[grid]), tries)
        : `${gridTable(grids[grid], layout)}${controlText(run, name, layout)}`
      return title ? `${level} ${title}\n\n${text}` : text
    })
  return [...(placement && placement !== reached ? [ON_ANY_CORE] : []), ...texts].join('\n\n')
}

const ON_ANY_CORE = '**Not pinned to one core** in this run: interrupts between the cores count, too.'

function leftOut(control, tries = 1) {
  const often = tries > 1 ? ` in ${tries} tries` : ''
  return `**Left out**, because it was too noisy to judge${often}. ${control}.`
}

function gridTable(rows, { rowHead = '', columns, reference }) {
  const lines = Object.entries(rows).map(([name, figures]) => [
    isOurs(name) ? `**${name}**` : name,
    ...columns.map((column) =>
      Number(name) < column.fromRow ? '' : cellOf(figures, column, rows[reference]),
    ),
  ])
  return table([rowHead, ...columns.map(({ head }) => head)], lines)
}

function cellOf(figures, { figure, isRatio, isInverse, isPlain, isRange, isSmall }, reference) {
  const values = figures[figure]
  if (values === undefined) return ''
  if (isRange) return rangeOf(values)
  if (isSmall) return summary(values).middle.toPrecision(2)
  if (isRatio)
    return spread(summary(isInverse ? paired(reference[figure], values) : paired(values, reference[figure])))
  return isPlain ? digits(summary(values).middle) : spread(summary(values))
}

/** Counts of requests are exact. */
function rangeOf(values) {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  return least === most ? String(most) : `${least} to ${most}`
}

const againstItself = (reference, ratio) => `${reference} measured twice: ratio ${spread(ratio)}`

function controlText(run, section, layout) {
  const found = controlOf(run, section, layout)
  return found ? `\n\n${againstItself(layout.reference, found)}.` : ''
}
