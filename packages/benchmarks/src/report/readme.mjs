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
const OURS = [names.BUCKET, names.LOG, names.THREE]

/** The median of a row, or of its ratio to another; undefined if there is no figure. */
const middle = (run, at, to) => {
  if (to) return ratioOf(run, at, to)?.middle
  const values = valuesOf(run, at)
  return values && summary(values).middle
}

/** What Tollgate is made for comes first. Lines whose figures were not measured, or could not be judged, are left out. */
function summaryOf(run, charts) {
  const lines = [
    ...[floodLine(run), batchLine(run, 512), batchLine(run, 64), leaseLine(run)],
    ...[loneLine(run), seamLine(run)],
  ]
  const images = charts.speed ? ['![' + ALT.speed + '](docs/compare/benchmarks/speed.svg)', ''] : []
  return [...images, ...lines.filter(Boolean), '- [All figures](docs/compare/benchmarks.md)'].join('\n')
}

function floodLine(run) {
  const at = { section: 'flood', grid: 'flood', figure: 'perSecond' }
  const [ours, block] = [names.LOG, names.FLEXIBLE_BLOCK].map((row) => middle(run, { ...at, row }))
  if (ours === undefined) return undefined
  return `- One denied tenant in a flood: ${digits(ours)} decisions/s; rate-limiter-flexible's block ${digits(block)}.`
}

const speedOf = (run, inFlight) => (row) =>
  middle(run, { section: `speed-${inFlight}`, grid: 'allowed', row, figure: 'perSecond' }, names.INCR)

function batchLine(run, inFlight) {
  const of = speedOf(run, inFlight)
  if (of(names.BUCKET) === undefined) return undefined
  if (inFlight < 512)
    return `- ${inFlight}: the same three ${figuresOf(of)}; others ${rangeOf(PEERS.map(of))}.`
  return `- ${inFlight} requests in flight, decisions/s x a bare \`INCR\`: ${limitsOf(of)}; others ${rangeOf(PEERS.map(of))}.`
}

const figuresOf = (of) => OURS.map((row) => digits(of(row))).join(', ')
const limitsOf = (of) => `token bucket, log, three limits ${figuresOf(of)}`

function leaseLine(run) {
  const at = { section: 'leases', grid: 'hot', row: names.LEASED, figure: 'perSecond' }
  const leased = middle(run, at)
  if (leased === undefined) return undefined
  return `- A hot tenant on [leases](docs/guides/leases.md): ${digits(leased)} decisions/s of one process.`
}

/** The bare script first: no limiter that asks Redis by a script passes it. */
function loneLine(run) {
  const of = speedOf(run, 1)
  if (of(names.BUCKET) === undefined) return undefined
  return `- One request at a time: a bare \`EVALSHA\` ${digits(of(names.SCRIPT))}; ${limitsOf(of)}; others ${rangeOf(PEERS.map(of))}.`
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
