// The summary in the README, between two markers.
import * as names from '../names.mjs'
import { digits, ratioOf, summary, valuesOf } from './figures.mjs'
import { ALT } from './prose.mjs'

const BEGIN = '<!-- benchmarks: made by npm run bench -- --write -->'
const END = '<!-- end of benchmarks -->'

/**
 * @param run as it is published
 * @param charts by name
 * @returns the text of the README with the summary of this run
 * @throws when the markers are not there
 */
export function withSummary(readme, run, charts) {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`README.md must have the lines ${BEGIN} and ${END}`)
  return `${readme.slice(0, from)}${BEGIN}\n${summaryOf(run, charts)}\n${readme.slice(to)}`
}

const PEERS = [names.EXPRESS, names.FASTIFY, names.KOA, names.FLEXIBLE]
const middle = (run, at, to) => {
  if (to) return ratioOf(run, at, to)?.middle
  const values = valuesOf(run, at)
  return values && summary(values).middle
}

/** Lines whose figures were not measured, or could not be judged, are left out. */
function summaryOf(run, charts) {
  const images = charts.speed ? ['![' + ALT.speed + '](docs/benchmarks/speed.svg)', ''] : []
  const lines = [speedLine(run, 64), speedLine(run, 1), floodLine(run), seamLine(run)]
  return [
    ...images,
    ...lines.filter(Boolean),
    '- [All figures](docs/benchmarks.md); `npm run bench` measures yours.',
  ].join('\n')
}

function speedLine(run, inFlight) {
  const of = (row) =>
    middle(run, { section: `speed-${inFlight}`, grid: 'allowed', row, figure: 'perSecond' }, names.INCR)
  const [bucket, log, three] = [names.BUCKET, names.LOG, names.THREE].map(of)
  if (bucket === undefined) return undefined
  const [all, others] = [[bucket, log, three].map(digits).join(', '), rangeOf(PEERS.map(of))]
  if (inFlight === 1) return `- 1 in flight: ${all}; others ${others}.`
  return `- ${inFlight} in flight, against a bare Redis \`INCR\`: token bucket, log, three limits ${all}; others ${others}.`
}

function floodLine(run) {
  const at = { section: 'flood', grid: 'flood', figure: 'perSecond' }
  const [ours, block] = [names.LOG, names.FLEXIBLE_BLOCK].map((row) => middle(run, { ...at, row }))
  if (ours === undefined) return undefined
  return `- One denied tenant in a flood: ${digits(ours)} decisions/s; rate-limiter-flexible's block ${digits(block)}.`
}

function seamLine(run) {
  const rows = run.sections.accuracy?.grids?.accuracy
  if (!rows) return undefined
  const most = (row) => Math.max(...rows[row].seam)
  return `- Around a window's end a limit of 100 lets ${most('Tollgate: sliding log')} through; others ${rangeOf(PEERS.map(most))}.`
}

function rangeOf(values) {
  return `${digits(Math.min(...values))} to ${digits(Math.max(...values))}`
}
