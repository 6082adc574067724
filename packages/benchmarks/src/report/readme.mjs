// The summary in the README, between two markers.
import * as names from '../names.mjs'
import { digits, ratioOf, summary, valuesOf } from './figures.mjs'
import { ALT } from './prose.mjs'

const BEGIN = '<!-- benchmarks: made by npm run bench -- --write -->'
const END = '<!-- end of benchmarks -->'

/** @returns the text of the README with the summary of this run @throws when the markers are not there */
export function withSummary(readme, run) {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`README.md must have the lines ${BEGIN} and ${END}`)
  return `${readme.slice(0, from)}${BEGIN}\n${summaryOf(run)}\n${readme.slice(to)}`
}

const PEERS = [names.EXPRESS, names.FASTIFY, names.KOA, names.FLEXIBLE]
const middle = (run, at, to) => {
  if (to) return ratioOf(run, at, to)?.middle
  const values = valuesOf(run, at)
  return values && summary(values).middle
}

/** Lines whose figures were not measured are left out. */
function summaryOf(run) {
  const lines = [
    speedLine(run, 512),
    speedLine(run, 1),
    floodLine(run),
    serverLine(run),
    seamLine(run),
    bytesLine(run),
  ]
  return [
    '![' + ALT.speed + '](docs/benchmarks/speed.svg)',
    '',
    ...lines.filter(Boolean),
    `- [All figures](docs/benchmarks.md), the machine, and what they do not say; \`npm run bench\` measures them on yours.`,
  ].join('\n')
}

function speedLine(run, inFlight) {
  const of = (row) =>
    middle(run, { section: `speed-${inFlight}`, grid: 'allowed', row, figure: 'perSecond' }, names.INCR)
  const [bucket, log, three] = [names.BUCKET, names.LOG, names.THREE].map(of)
  if (bucket === undefined) return undefined
  const peers = PEERS.map(of)
  const range = `${digits(Math.min(...peers))} to ${digits(Math.max(...peers))}`
  return `- ${inFlight} in flight: ${digits(bucket)} x the decisions of a bare Redis \`INCR\` with a token bucket, ${digits(log)} x with an exact log, ${digits(three)} x with three limits; other packages ${range}.`
}

function floodLine(run) {
  const at = { section: 'flood', grid: 'flood', row: names.LOG, figure: 'perSecond' }
  const [ours, asked, block] = [names.LOG, names.FLEXIBLE, names.FLEXIBLE_BLOCK].map((row) =>
    middle(run, { ...at, row }),
  )
  if (ours === undefined) return undefined
  return `- A flood of one denied tenant: ${digits(ours)} answers a second of one process; rate-limiter-flexible ${digits(asked)}, with its in-memory block ${digits(block)}.`
}

function serverLine(run) {
  const of = (row) => middle(run, { section: 'server', grid: 'server', row, figure: 'us' })
  if (of(names.BUCKET) === undefined) return undefined
  const peers = PEERS.map(of)
  return `- Redis works ${digits(of(names.BUCKET))} µs for a decision of a token bucket in batches of 64, ${digits(of(names.LOG_100))} µs for one of an exact log; for other packages ${digits(Math.min(...peers))} to ${digits(Math.max(...peers))} µs.`
}

function seamLine(run) {
  const rows = run.sections.accuracy?.grids?.accuracy
  if (!rows) return undefined
  const most = (row) => Math.max(...rows[row].seam)
  const peers = PEERS.map((row) => `${row} ${most(row)}`).join(', ')
  return `- Around the end of a window a limit of 100 lets ${most('Tollgate: sliding log')} through; ${peers}.`
}

function bytesLine(run) {
  const of = (row, figure) => middle(run, { section: 'bytes', grid: 'bytes', row, figure })
  const [log, koa] = [names.LOG, names.KOA].map((row) => of(row, 'after 1000'))
  if (log === undefined) return undefined
  return `- A log of 1000 requests takes ${digits(log)} bytes of Redis a subject; in a sorted set (koa-ratelimit) ${digits(koa)}.`
}
