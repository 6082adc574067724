// The summary in the README, between two markers.
import * as names from '../../names.mjs'
import { digits, ratioOf, summary, valuesOf } from './figures.mjs'

const BEGIN = '<!-- benchmarks: made by npm run bench -- --write -->'
const END = '<!-- end of benchmarks -->'

/**
 * @param run as it is published
 * @returns the text of the README with the summary of this run
 * @throws when the markers are not there
 */
export function withSummary(readme, run) {
  const [from, to] = [readme.indexOf(BEGIN), readme.indexOf(END)]
  if (from < 0 || to < from) throw new Error(`README.md must have the lines ${BEGIN} and ${END}`)
  return `${readme.slice(0, from)}${BEGIN}\n${summaryOf(run)}\n${readme.slice(to)}`
}

const PEERS = [names.EXPRESS, names.FASTIFY, names.KOA, names.FLEXIBLE]

/** The median of a row, or of its ratio to another; undefined if there is no figure. */
const middle = (run, at, to) => {
  if (to) return ratioOf(run, at, to)?.middle
  const values = valuesOf(run, at)
  return values && summary(values).middle
}

/** Sentences whose figures were not measured, or could not be judged, are left out. */
function summaryOf(run) {
  const sentences = [floodSentence(run), loneSentence(run), batchSentence(run)].filter(Boolean)
  return [...sentences, '[All figures](docs/compare/benchmarks.md).'].join('\n')
}

function floodSentence(run) {
  const at = { section: 'flood', grid: 'flood', figure: 'perSecond' }
  const [ours, block] = [names.LOG, names.FLEXIBLE_BLOCK].map((row) => middle(run, { ...at, row }))
  if (ours === undefined) return undefined
  return `Tollgate denies a flooding tenant ${digits(ours)} times a second per process, rate-limiter-flexible with a block ${digits(block)} times.`
}

/** Decisions a second beside a bare INCR: of a contender, and of the packages that people know. */
function speedAt(run, inFlight) {
  const of = (row) =>
    middle(run, { section: `speed-${inFlight}`, grid: 'allowed', row, figure: 'perSecond' }, names.INCR)
  return { of, isKnown: of(names.LOG) !== undefined, others: () => rangeOf(PEERS.map(of)) }
}

/** With the bare script: no limiter that asks Redis by a script passes it. */
function loneSentence(run) {
  const { of, isKnown, others } = speedAt(run, 1)
  if (!isKnown) return undefined
  return `With one request at a time, Tollgate runs at ${digits(of(names.LOG))} times the speed of a bare Redis \`INCR\`, a bare script at ${digits(of(names.SCRIPT))}, and four other packages at ${others()}.`
}

function batchSentence(run) {
  const { of, isKnown, others } = speedAt(run, 512)
  if (!isKnown) return undefined
  return `With 512 requests in flight, which share calls, Tollgate runs at ${digits(of(names.LOG))} times \`INCR\`, and the others at ${others()}.`
}

function rangeOf(values) {
  return `${digits(Math.min(...values))} to ${digits(Math.max(...values))}`
}
