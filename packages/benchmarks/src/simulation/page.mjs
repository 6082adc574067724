// docs/operations/leases-at-scale.md: what Redis carries with and without leases, computed from measured figures, and the simulation.
import * as names from '../names.mjs'
import { digits, summary, valuesOf } from '../report/words/figures.mjs'
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
    '## The load on one Redis',
    computedText(costs),
    carryTable(costs),
    '## One tenant on a fleet',
    fleetText(),
    fleetTable(costs),
    '## A fleet of 1000 processes',
    simulatedText(simulation),
    simulationTable(simulation),
    fold('How the simulation works', simulationMethod(simulation)),
    '## What was measured',
    MEASURED,
    costTable(costs),
    '## Limits of these estimates',
    CAVEATS,
  ].join('\n\n')}\n`
}

const fold = (summary, text) => `<details><summary>${summary}</summary>\n\n${text}\n\n</details>`

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

const OPENING = `With \`lease: true\` in a plan, a process takes units of a busy tenant from Redis in advance, and serves the tenant's requests from memory.
It calls Redis only to renew this *lease*. [Leases](../guides/leases.md) shows how to use leases. This page estimates the savings on many
machines. The first two sections calculate from [measurements](#what-was-measured) on one machine, and the third simulates a fleet.`

const MEASURED = `These figures come from \`npm run bench\` on one machine, in the sections [Leases](../compare/benchmarks.md#leases) and
[Commands against offered load](../compare/benchmarks.md#commands-against-offered-load). Redis's time is the CPU time of the whole server process,
including its sockets.`

function costTable({ lone, batched, renewal, script, renewals, processSpeed }) {
  return table(
    ['figure', 'measured'],
    [
      ['Redis µs per decision, one request in a command', digits(lone)],
      ['Redis µs per decision, 64 requests in a command', digits(batched)],
      ['Redis µs per renewal', digits(renewal)],
      ['Redis µs per renewal, in the script alone', digits(script)],
      ['renewals per second for one process and one tenant', digits(renewals)],
      ['decisions per second from leases in one process', digits(processSpeed)],
    ],
  )
}

function computedText({ renewals }) {
  return `Without leases, Redis's load grows with the number of requests. With leases, it grows with the number of *hot pairs*. A hot pair is a process
and a tenant that the process serves from a lease. Each hot pair renews its lease ${digits(renewals)} times a second, however many
requests it serves.

Redis decides in one thread. The table shows how much Redis can do while this thread is ${percent(BUSY)} busy. If tenants are spread over several
shards, each shard can do as much as one Redis.`
}

function carryTable({ lone, batched, renewal, renewals }) {
  const each = BUSY * 1e6
  const row = (name, perRedis) => [name, digits(perRedis), digits(SHARDS * perRedis)]
  return table(
    ['', 'one Redis', `${SHARDS} shards`],
    [
      row('decisions/s without leases, one per command', each / lone),
      row('decisions/s without leases, 64 per command', each / batched),
      row('renewals/s', each / renewal),
      row('hot pairs of a process and a tenant', each / renewal / renewals),
    ],
  )
}

function fleetText() {
  return `One tenant's counters are always in one shard. Here ${PROCESSES.toLocaleString('en')} processes share the tenant's requests evenly. The table shows how many
cores the shard would need. Redis decides on one core, so a number above 1 means that the shard cannot do it.

- A process takes a lease only if the lease can serve at least ${HOT_REQUESTS} requests. Otherwise the process asks Redis for each request ("not hot").
- ${PROCESSES.toLocaleString('en')} leases enlarge the tenant's value in Redis to 22 kB, so a renewal takes about ${CROWDED_US} µs longer. Other
  requests for the tenant become slower by nearly as much. We measured this once, on Redis 7.0. The last column includes the ${CROWDED_US} µs.`
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
    [
      'decisions/s',
      'per process',
      'cores without leases',
      'cores without leases, 64 per command',
      'cores with leases',
    ],
    rows,
  )
}

function simulatedText({ results }) {
  const [{ processes, perSecond }] = results
  return `\`npm run simulate\` runs Tollgate's code for leases and denials on a simulated network. ${processes} processes get ${digits(perSecond)} requests a second for
2000 tenants. Half of the tenants send fewer requests than their plan allows, and the others send more.

- *From leases* is the share of requests that were served from leases and needed no command to Redis. Most commands are for small tenants,
  which seldom have leases.
- *Fair* is Jain's index: 1 means that all processes let in the same share of a tenant's requests. The table shows the mean and the lowest
  index of the tenants that send more than their plan allows.
- *Longest without* is the longest time in which a process got only denials for a tenant, while other processes served that tenant from leases.`
}

function simulationMethod({ results }) {
  const [{ processes, seconds, crashesPerSecond }] = results
  return `- Tollgate's built code for leases, denials from memory and the memory store runs on a simulated clock. The clock advances only when all work
  is done. The run takes ${seconds} s of simulated time.
- By Zipf's law, some tenants send far more requests than others. Each tenant's requests go to some of the ${processes} processes, spread
  by the same law.
- ${crashesPerSecond} processes crash per second. The units that they have on lease are lost. A lease lasts at most half a second.
- Half of the plans allow 1.5 times as many requests as their tenants send. The other plans allow 0.7 times as many.
- A round trip takes 0.8 ms on average. Requests from one process within 1 ms go in one round trip.
- *Fair* and *longest without* count only processes that get at least 10 requests a second for the tenant.`
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
      ...['', 'leases', 'let in', 'from leases', 'commands/s', 'per 1000 decisions'],
      ...['fair: mean, least', 'longest without, ms', 'units/s lost to crashes'],
    ],
    rows,
    2,
  )
}

const CAVEATS = `- We measured on one machine with few cores, and multiplied. Networks, TLS, replicas and a busy kernel add costs.
- A cluster can do only as much as its busiest shard allows.
- The simulated store and network are always fast. So the numbers of commands are right, but real times can be longer.`

const percent = (share) => `${Math.round(share * 100)} %`
