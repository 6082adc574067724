// docs/compare/benchmarks.md, as a run renders it.
import { digits, MOST_OFF, MOST_SPREAD } from './words/figures.mjs'
import { judge, LIMIT } from './goals.mjs'
import { LAYOUT } from './layouts/layout.mjs'
import { PARTS } from './parts.mjs'
import { ALT, CAVEATS, OPENING, TO_REACH } from './words/prose.mjs'
import { commandsOf, quickSections, sectionsElsewhere } from './read.mjs'
import { sectionTables, table } from './tables.mjs'

const percent = (share) => `${Math.round(share * 100)} %`

/**
 * @param {object} run as it is published
 * @param {Record<string, string>} charts the charts that there are, by name
 */
export function pageOf(run, charts) {
  return (
    [
      '<!-- Made by npm run bench -- --write: change packages/benchmarks/src/report instead. -->',
      '# Benchmarks',
      OPENING,
      fold('Machine, versions and method', machineText(run)),
      ...PARTS.map((part) => partText(run, part, charts)).filter(Boolean),
      '## Targets',
      ...targetTexts(run),
      '## Caveats',
      CAVEATS,
    ].join('\n\n') + '\n'
  )
}

const fold = (summary, ...texts) =>
  [`<details><summary>${summary}</summary>`, ...texts, '</details>'].join('\n\n')

function machineText(run) {
  const { date, seconds, machine } = run
  const commands = commandsOf(run)
  const { cores, cpu, memoryGb, system, node, redis, packages } = machine
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`)
  return [
    table(
      ['', ''],
      [
        ['date', date],
        [commands.length > 1 ? 'commands' : 'command', commands.map((one) => `\`${one}\``).join(', ')],
        ['took', `${seconds} s`],
        ['machine', `${cores} cores (${cpu}), ${memoryGb} GB, ${system}`],
        ['versions', `Node ${node.replace(/^v/, '')}, Redis ${redis}; ${versions.join(', ')}`],
      ],
      2,
    ),
    `- Contenders take turns in every round, and each ratio compares figures of one round.
- Figures are medians, with quartiles in brackets. Thin lines in charts are quartiles.
- Most tables measure their reference twice, under two names. If the second is more than ${percent(MOST_OFF)} off the first, or a quartile
  more than ${percent(MOST_SPREAD)}, the table is too noisy to judge. It is measured again, and left out if that does not help.
- Differences within the quartiles of that ratio are noise.${roughText(run)}${elsewhereText(run)}`,
  ].join('\n\n')
}

/** Which figures are rough, if any are. */
function roughText(run) {
  const quick = quickSections(run)
  if (quick.length === 0) return ''
  if (quick.length === Object.keys(run.sections).length)
    return '\n- This was a quick run (`--quick`): its figures are rough.'
  const titles = quick.map((name) => `*${LAYOUT[name].title}*`).join(', ')
  return `\n- Measured with \`--quick\`, so these are rough: ${titles}.`
}

/** Which sections must not be compared with the others, since another machine measured them. */
function elsewhereText(run) {
  return Object.entries(sectionsElsewhere(run))
    .map(([cpu, names]) => {
      const titles = names.map((name) => `*${LAYOUT[name].title}*`).join(', ')
      return `\n- Measured on another machine (${cpu}), so do not compare these sections with the rest: ${titles}.`
    })
    .join('')
}

function targetTexts(run) {
  const goals = judge(run)
  const count = (wanted) => goals.filter(({ verdict }) => verdict === wanted).length
  const [reached, missed] = ['reached', 'not reached'].map(count)
  return [
    `This run reached ${reached} of the ${reached + missed} targets that it could judge.`,
    fold('All targets', TO_REACH, goalTable(goals)),
  ]
}

function goalTable(goals) {
  const rows = goals.map(({ what, detail, sign, bound, value, verdict, limitText = '' }) => [
    what,
    detail,
    bound === undefined ? '' : `${sign === '>=' ? 'at least' : 'at most'} ${bound}`,
    value === undefined ? '' : digits(value),
    verdict === 'reached' ? '**reached**' : verdict,
    verdict === 'reached' ? '' : limitText,
  ])
  return table(['what', 'case', 'target', 'measured', '', LIMIT], rows, 6)
}

/** Charts and what they mean first, tables and the method in a fold. Empty if nothing of it was measured. */
function partText(run, { title, sections, charts: wanted = [], see, means, method }, charts) {
  const measured = sections.filter((name) => run.sections[name])
  if (measured.length === 0) return ''
  const tables = measured.map((name) => tablesText(run, name, measured.length > 1))
  const hasFigures = measured.some((name) => Object.keys(run.sections[name].grids ?? {}).length > 0)
  if (!hasFigures) return [`## ${title}`, ...tables].join('\n\n')
  const images = wanted
    .filter((name) => charts[name])
    .map((name) => `![${ALT[name]}](benchmarks/${name}.svg)`)
  const text = [see, means(run)].filter(Boolean).join(' ')
  return [`## ${title}`, ...images, text, fold('Tables and method', method, ...tables)].join('\n\n')
}

function tablesText(run, name, hasTitle) {
  const tables = sectionTables(run, name, LAYOUT[name], hasTitle ? '####' : '###')
  return hasTitle ? `### ${LAYOUT[name].title}\n\n${tables}` : tables
}
