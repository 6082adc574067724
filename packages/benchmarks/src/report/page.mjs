// docs/compare/benchmarks.md, as a run renders it.
import { digits, MOST_OFF, MOST_SPREAD } from './figures.mjs'
import { judge, LIMIT } from './goals.mjs'
import { LAYOUT } from './layout.mjs'
import { ALT, CAVEATS, CHARTS_BELOW, PROSE, TO_REACH } from './prose.mjs'
import { commandsOf, quickSections, sectionsElsewhere } from './read.mjs'
import { sectionTables, table } from './tables.mjs'

const percent = (share) => `${Math.round(share * 100)} %`

/**
 * @param {object} run as it is published
 * @param {Record<string, string>} charts the charts that there are, by name
 */
export function pageOf(run, charts) {
  const measured = Object.keys(LAYOUT).filter((name) => run.sections[name])
  return (
    [
      '<!-- Made by npm run bench -- --write: change packages/benchmarks/src/report instead. -->',
      '# Benchmarks',
      opening(run),
      ...measured.map((name) => sectionText(run, name, charts)),
      '## To reach',
      TO_REACH,
      goalTable(run),
      '## Caveats',
      CAVEATS,
    ].join('\n\n') + '\n'
  )
}

function opening(run) {
  const { date, seconds, machine } = run
  const commands = commandsOf(run)
  const { cores, cpu, memoryGb, system, node, redis, packages } = machine
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`)
  return [
    `Tollgate beside express-rate-limit, @fastify/rate-limit, koa-ratelimit and rate-limiter-flexible, and beside what is no limiter at
all: a bare \`INCR\`, a bare script. Repeat it: \`npm run bench\` takes about 20 minutes, and up to 10 more for tables that were too noisy. It needs a machine
that does nothing else; \`npm run bench -- --quick\` takes 4.`,
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
    `Contenders take turns in every round, and ratios are those of one round. Figures are medians, with quartiles in brackets.
Most tables measure their reference twice, under two names. If the second is more than ${percent(MOST_OFF)} off the first, or a quartile more
than ${percent(MOST_SPREAD)}, the table is too noisy to judge: it is measured again, and left out if that does not help. Differences as small
as that ratio's quartiles mean nothing.${roughText(run)}${elsewhereText(run)}`,
  ].join('\n\n')
}

/** Which figures are rough, if any are. */
function roughText(run) {
  const quick = quickSections(run)
  if (quick.length === 0) return ''
  if (quick.length === Object.keys(run.sections).length)
    return '\nThis was a quick run (`--quick`): its figures are rough.'
  const titles = quick.map((name) => `*${LAYOUT[name].title}*`).join(', ')
  return `\nMeasured by \`--quick\`, and therefore rough: ${titles}.`
}

/** Which sections must not be compared with the others, since another machine measured them. */
function elsewhereText(run) {
  return Object.entries(sectionsElsewhere(run))
    .map(([cpu, names]) => {
      const titles = names.map((name) => `*${LAYOUT[name].title}*`).join(', ')
      return `\nMeasured on another machine (${cpu}), and not to be compared with the rest: ${titles}.`
    })
    .join('')
}

function goalTable(run) {
  const rows = judge(run).map(({ what, detail, sign, bound, value, verdict, limitText = '' }) => [
    what,
    detail,
    bound === undefined ? '' : `${sign === '>=' ? 'at least' : 'at most'} ${bound}`,
    value === undefined ? '' : digits(value),
    verdict === 'reached' ? '**reached**' : verdict,
    verdict === 'reached' ? '' : limitText,
  ])
  return table(['what', 'of', 'to reach', 'measured', '', LIMIT], rows, 6)
}

function sectionText(run, name, charts) {
  const [title, tables] = [`## ${LAYOUT[name].title}`, sectionTables(run, name, LAYOUT[name])]
  const { grids, noise = {} } = run.sections[name]
  const isLeftOut = Object.keys(noise).length > 0 && Object.keys(grids).length === 0
  if (isLeftOut) return [title, tables].join('\n\n')
  const below = (CHARTS_BELOW[name] ?? []).filter((chart) => charts[chart])
  const images = below.map((chart) => `![${ALT[chart]}](benchmarks/${chart}.svg)`)
  return [title, PROSE[name], ...images, tables].join('\n\n')
}
