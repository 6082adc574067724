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

const OPENING = `With \`lease: true\` in a plan, a process takes units of a busy subject in advance and serves it from memory. Redis then works
for renewals, not for requests. This page estimates the savings on many machines. The first two sections calculate from figures
[measured](#what-was-measured) on one machine, and the third simulates a fleet. [Leases](../guides/leases.md) explains how to use leases.`

const MEASURED = `These figures come from \`npm run bench\` on one machine, in the sections [Leases](../compare/benchmarks.md#leases) and
[Commands against offered load](../compare/benchmarks.md#commands-against-offered-load). Redis's time is the CPU time of the whole server, with
its sockets.`

function costTable({ lone, batched, renewal, script, renewals, processSpeed }) {
  return table(
    ['figure', 'measured'],
    [
      ['Redis µs per decision, one request in a command', digits(lone)],
      ['Redis µs per decision, 64 requests in a command', digits(batched)],
      ['Redis µs per renewal', digits(renewal)],
      ['of these, in the script', digits(script)],
      ['renewals per second for one process and one tenant', digits(renewals)],
      ['decisions per second from leases in one process', digits(processSpeed)],
    ],
  )
}

function computedText({ renewals }) {
  return `Without leases, Redis's load depends on the number of requests. With leases it depends on the number of *hot pairs*: a process and a busy tenant.
Each pair renews ${digits(renewals)} times a second, and a renewal serves all requests since the last one.

The table assumes that Redis, which decides in one thread, is ${percent(BUSY)} busy. If tenants are spread over several shards, each shard can do
as much.`
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
  return `A tenant is always in one shard. Here ${PROCESSES.toLocaleString('en')} processes share its requests evenly. The table shows how many
cores the shard would need. Redis decides on one core, so more than 1 is too much.

- A lease must serve at least ${HOT_REQUESTS} requests. A process that asks less often asks Redis each time ("not hot").
- Leases for ${PROCESSES.toLocaleString('en')} processes make the tenant's value 22 kB, so a renewal takes about ${CROWDED_US} µs more. Other requests for the tenant take
  nearly as long. This was measured once on Redis 7.0, and is not part of the benchmark.`
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
    ['decisions/s', 'per process', 'cores without leases', 'in batches of 64', 'cores with leases'],
    rows,
  )
}

function simulatedText({ results }) {
  const [{ processes, perSecond }] = results
  return `\`npm run simulate\` runs the real code for leases and denials on a simulated network. ${processes} processes get ${digits(perSecond)} requests a second for
2000 tenants. Half of the tenants stay below their plan, and the others ask for more than it allows.

- *From leases* is the share of requests that need no command. Most tenants are small and seldom leased, so most remaining commands are
  theirs.
- *Fair* compares the shares that processes get of what they ask for (Jain's index): 1 means the same share for all. The figures are the mean and the lowest value of the tenants
  over their plan.
- *Longest without* is the longest time for which a process was always denied while others served units from leases.`
}

function simulationMethod({ results }) {
  const [{ processes, seconds, crashesPerSecond }] = results
  return `- The built code of leases, denials from memory and the memory store runs on a simulated clock, which advances only when all work is
  done. The run takes ${seconds} s of that clock.
- Requests are spread over tenants by Zipf's law. A tenant's requests go to some of the ${processes} processes, most of them to the first.
- ${crashesPerSecond} processes crash per second. A crashed process holds its units until its lease ends: at most half a second, or a 64th of the shortest
  window.
- Half of the tenants have plans for one and a half times what they ask for. The other plans allow 30 % less than their tenants ask for.
- A round trip takes 0.8 ms on average. Requests from one process within 1 ms travel together.
- *Fair* and *longest without* count processes that ask for the tenant at least 10 times a second.`
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

const CAVEATS = `- The measurements come from one machine with few cores, and the calculations extrapolate them linearly. Networks, TLS, replicas and a busy
  kernel cost more.
- A cluster is limited by its busiest shard.
- The simulated store is never too busy. So the numbers of commands are right, but the times are those of a fast network.`

const percent = (share) => `${Math.round(share * 100)} %`
