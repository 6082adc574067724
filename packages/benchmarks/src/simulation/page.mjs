// docs/operations/leases-at-scale.md: what Redis carries with and without leases, computed from measured figures, and the simulation.
import * as names from '../names.mjs'
import { digits, summary, valuesOf } from '../report/figures.mjs'
import { table } from '../report/tables.mjs'

export const PATHS = {
  results: 'docs/compare/benchmarks/results.json',
  simulation: 'docs/compare/benchmarks/simulation.json',
  page: 'docs/operations/leases-at-scale.md',
}

/** Of Redis's one thread: the rest is for bursts. */
const BUSY = 0.5
const SHARDS = 64
const PROCESSES = 1000
const CALM_RATE = '10000'

/** @param run the figures of `npm run bench`; @param simulation those of `npm run simulate` */
export function scalePage(run, simulation) {
  const costs = costsOf(run)
  return `${[
    '<!-- Made by npm run simulate -- --write: change packages/benchmarks/src/simulation instead. -->',
    '# Leases at scale',
    OPENING,
    '## Measured',
    MEASURED,
    costTable(costs),
    '## Computed: what Redis carries',
    computedText(costs),
    carryTable(costs),
    '## Computed: one tenant on a fleet',
    fleetText(),
    fleetTable(costs),
    '## Simulated: a fleet of 1000 processes',
    simulatedText(simulation),
    simulationTable(simulation),
    '## What this does not say',
    CAVEATS,
  ].join('\n\n')}\n`
}

/** @throws when a figure was not measured */
export function costsOf(run) {
  const of = (section, grid, row, figure) => {
    const values = valuesOf(run, { section, grid, row, figure })
    if (!values) throw new Error(`${section} has no figure ${figure} of ${row}: measure it first`)
    return summary(values).middle
  }
  return {
    lone: of('leases', 'cost', names.ONE_A_COMMAND, 'serverUs'),
    batched: of('leases', 'cost', names.MANY_A_COMMAND, 'serverUs'),
    renewal: of('leases', 'cost', names.RENEWAL, 'serverUs'),
    script: of('leases', 'cost', names.RENEWAL, 'us'),
    renewals: of('lease-curve', '1', CALM_RATE, 'leasedCommands'),
    processSpeed: of('leases', 'hot', names.LEASED, 'perSecond'),
  }
}

const OPENING = `A plan with \`lease: true\` lets a process take units of a busy subject in advance and serve it from memory. Redis then works
for renewals and no longer for requests. This page says what that is worth on many machines, where nobody has measured it here:
it computes from figures of one machine, and simulates.`

const MEASURED = `By \`npm run bench\`, in the sections [Leases](../compare/benchmarks.md#leases) and [Commands against offered
load](../compare/benchmarks.md#commands-against-offered-load), on one machine. Redis's time is the CPU time of the whole server, with its
sockets.`

function costTable({ lone, batched, renewal, script, renewals, processSpeed }) {
  return table(
    ['figure', 'measured'],
    [
      ['Redis µs a decision, one request in a command', digits(lone)],
      ['Redis µs a decision, 64 requests in a command', digits(batched)],
      ['Redis µs a renewal, of these in the script', `${digits(renewal)}, ${digits(script)}`],
      ['renewals a second of one process and one tenant', digits(renewals)],
      ['decisions a second of one process from leases', digits(processSpeed)],
    ],
  )
}

function computedText({ renewals }) {
  return `Redis decides in one thread. ${percent(BUSY)} of it is taken as busy here. A renewal serves whatever was asked for since the last one, so with leases
the load does not depend on the requests, but on how many *pairs* of a process and a tenant are hot: each renews
${digits(renewals)} times a second. Shards carry as much each, if tenants are spread over them.`
}

function carryTable({ lone, batched, renewal, renewals }) {
  const each = BUSY * 1e6
  const row = (name, perRedis) => [name, digits(perRedis), digits(SHARDS * perRedis)]
  return table(
    ['', 'one Redis', `${SHARDS} shards`],
    [
      row('decisions/s without leases, one in a command', each / lone),
      row('decisions/s without leases, 64 in a command', each / batched),
      row('renewals/s', each / renewal),
      row('hot pairs of a process and a tenant', each / renewal / renewals),
    ],
  )
}

function fleetText() {
  return `One tenant is in one shard, however many there are. ${PROCESSES.toLocaleString('en')} processes ask for it, each for the same. What the shard must do, in
cores: more than 1 no Redis can. A process that asks too seldom for a lease to serve 16 requests asks Redis each time. Leases of
${PROCESSES.toLocaleString('en')} processes make the tenant's value 22 kB, so a renewal takes about ${CROWDED_US} µs in the script: that was measured once on Redis 7.0
and is not part of the benchmark. Other requests for the tenant take nearly as long meanwhile.`
}

const RATES = [10_000, 100_000, 1_000_000, 10_000_000]
/** Of a plan whose windows are long, or a token bucket, in ms; and how many requests it must serve. */
const LEASE_MS = 500
const HOT_REQUESTS = 16
/** What a renewal takes more among a thousand leases, in µs of Redis. */
const CROWDED_US = 300

function fleetTable({ lone, batched, renewal, renewals }) {
  const rows = RATES.map((rate) => {
    const isHot = ((rate / PROCESSES) * LEASE_MS) / 1000 >= HOT_REQUESTS
    const leased = isHot ? (PROCESSES * renewals * (renewal + CROWDED_US)) / 1e6 : (rate * lone) / 1e6
    return [
      ...[
        digits(rate),
        digits(rate / PROCESSES),
        digits((rate * lone) / 1e6),
        digits((rate * batched) / 1e6),
      ],
      ...[isHot ? digits(leased) : `${digits(leased)} (not hot)`],
    ]
  })
  return table(
    ['decisions/s', 'of each process', 'cores without leases', 'in batches of 64', 'cores with leases'],
    rows,
  )
}

function simulatedText({ results }) {
  const [{ processes, perSecond, seconds, crashesPerSecond }] = results
  return `By \`npm run simulate\`: the built code of leases, of denials from memory and of the memory store, on a simulated network and a clock
that passes only when all is done. ${processes} processes get ${digits(perSecond)} requests a second for 2000 tenants by Zipf's law, for
${seconds} s; a tenant's requests go to some of the processes, the first one most. ${crashesPerSecond} processes crash a second. Half of the tenants have
plans for half as much again as they ask for, the others for 30 % less. Most tenants are small: what they ask for is seldom leased, and is
most of the commands that remain. *Fair* is Jain's index over what
each process got of what it asked for, mean over tenants that are over their plan, and the least of one: 1 is the same share for all.
*Longest without* is the longest time that a process was denied again and again while others served units
from leases without a break. Both are of processes that ask for the tenant 10 times a second or more.`
}

function simulationTable({ results }) {
  const rows = results.map(({ name, lease, seconds, asked, allowed, leased, ...figures }) => [
    ...[name, lease ? 'with' : 'without', percent(allowed / asked), percent(leased / asked)],
    ...[digits(figures.commands / seconds), digits((1000 * figures.commands) / asked)],
    ...[
      `${figures.fairness.toFixed(3)}, ${figures.leastFair.toFixed(3)}`,
      lease ? digits(figures.withoutMs) : '',
    ],
    lease ? digits(figures.lostToCrashes / seconds) : '',
  ])
  return table(
    [
      ...['', 'leases', 'let in', 'from leases', 'commands/s', 'for 1000 decisions'],
      ...['fair: mean, least', 'longest without, ms', 'units/s lost to crashes'],
    ],
    rows,
    2,
  )
}

const CAVEATS = `- Measured is one machine with few cores; computed is a straight line from there. Networks, TLS, replicas and a busy kernel cost more.
- A cluster is as good as its busiest shard.
- In the simulation a command takes 0.8 ms there and back on average, requests of a process within 1 ms travel together, and the store
  is never too busy. So its commands are right, and its times are those of a fast network.
- A crashed process holds its units until its lease ends: at most half a second, or a 64th of the shortest window.`

const percent = (share) => `${Math.round(share * 100)} %`
