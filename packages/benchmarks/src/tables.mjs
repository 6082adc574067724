// The results as markdown.
import { BASELINE, PEERS } from './contenders.mjs'
import { median, paired, spread } from './statistics.mjs'

function table(head, rows) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** One load: decisions a second, against INCR and the better peer, and CPU of both sides. */
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
  ]
  const rows = [...results].map(([name, { perSecond, serverUs, nodeUs }]) => [
    name,
    Math.round(median(perSecond)),
    spread(paired(perSecond, base.perSecond)),
    median(paired(perSecond, peer.perSecond)).toFixed(2),
    spread(serverUs),
    median(paired(serverUs, base.serverUs)).toFixed(2),
    median(nodeUs).toFixed(2),
  ])
  return table(head, rows)
}

function betterPeer(results) {
  const peers = PEERS.map((name) => results.get(name))
  return peers.reduce((best, peer) => (median(peer.perSecond) > median(best.perSecond) ? peer : best))
}

export function memoryTable({ cases, results }) {
  const head = [
    'bytes of Redis memory a subject',
    ...cases.map(({ requests }) => `${requests} in the window`),
  ]
  return table(
    head,
    [...results].map(([name, bytes]) => [name, ...bytes.map((value) => Math.round(value))]),
  )
}

/** What the project wants to reach, and whether this run did. */
export function goalTable({ speed, memory }) {
  const ratio = (inFlight, name, reference) =>
    median(paired(speed.get(inFlight).get(name).perSecond, reference(speed.get(inFlight)).perSecond))
  const incr = (results) => results.get(BASELINE)
  const server = (name) => median(speed.get(64).get(name).serverUs)
  const [, , exact] = memory.results.get('sliding-log, exact')
  const [three] = memory.results.get('3 limits: 3 buckets')
  const goals = [
    ['token-bucket, 512 in flight: x INCR', ratio(512, 'token-bucket', incr), '>=', 2],
    ['token-bucket, 512 in flight: x better peer', ratio(512, 'token-bucket', betterPeer), '>=', 2.5],
    ['sliding-log 100/min, 512 in flight: x INCR', ratio(512, 'sliding-log 100/min', incr), '>=', 2],
    [
      'sliding-log 100/min, 512 in flight: x better peer',
      ratio(512, 'sliding-log 100/min', betterPeer),
      '>=',
      2.5,
    ],
    ['token-bucket, 1 in flight: x INCR', ratio(1, 'token-bucket', incr), '>=', 0.9],
    ['sliding-log 100/min, 1 in flight: x INCR', ratio(1, 'sliding-log 100/min', incr), '>=', 0.9],
    ['token-bucket, server µs at 64', server('token-bucket'), '<=', 2.5],
    ['sliding-log 100/min, server µs at 64', server('sliding-log 100/min'), '<=', 4],
    ['3 limits, server µs at 64', server('3 limits: 3 buckets'), '<=', 5],
    ['3 limits, bytes a subject', three, '<=', 200],
    ['sliding-log exact, bytes at 1000 requests', exact, '<=', 8 * 1000 + 120],
  ]
  const rows = goals.map(([goal, value, sign, bound]) => {
    const reached = sign === '>=' ? value >= bound : value <= bound
    return [goal, `${sign} ${bound}`, value.toFixed(value > 100 ? 0 : 2), reached ? 'yes' : 'no']
  })
  return table(['to reach', 'goal', 'measured', 'reached'], rows)
}
