// Prints the results as markdown tables.
import { BASELINE } from './contenders.mjs'
import { betterPeer } from './goals.mjs'
import { median, paired, spread } from './statistics.mjs'

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** The table of one load: decisions per second, ratios to INCR and to the better peer, and CPU time of both sides. */
export function speedTable(results) {
  const base = results.get(BASELINE)
  const peer = betterPeer(results)
  const head = [
    'contender',
    'decisions/s',
    'x INCR',
    'x better peer',
    'server µs',
    'server x INCR',
    'Node µs',
    'cores busy',
  ]
  const rows = [...results].map(([name, { perSecond, serverUs, nodeUs }]) => [
    name,
    spread(perSecond, 0),
    spread(paired(perSecond, base.perSecond)),
    spread(paired(perSecond, results.get(peer).perSecond)),
    spread(serverUs),
    spread(paired(serverUs, base.serverUs)),
    median(nodeUs).toFixed(2),
    median(perSecond.map((each, i) => (each * (serverUs[i] + nodeUs[i])) / 1e6)).toFixed(2),
  ])
  return `${table(head, rows)}\n\nThe better peer is ${peer}.`
}

export function memoryTable({ cases, results }) {
  const of = cases.map(({ requests, subjects }) => `${requests} in the window (${subjects} subjects)`)
  const cell = (bytes, i) => {
    const { requests } = cases[i]
    return requests === 1
      ? bytes.toFixed(0)
      : `${bytes.toFixed(0)} (${(bytes / requests).toFixed(2)} a request)`
  }
  return table(
    ['bytes a subject', ...of],
    [...results].map(([name, bytes]) => [name, ...bytes.map(cell)]),
  )
}

export function goalTable(goals) {
  const rows = goals.map(({ name, sign, bound, value, isReached, note = '' }) => {
    const measured = value.toFixed(Math.abs(value) >= 100 ? 0 : 2)
    return [name, `${sign} ${bound}`, measured, isReached ? 'yes' : 'no', note]
  })
  return table(['to reach', 'goal', 'measured', 'reached', 'beside it'], rows)
}
