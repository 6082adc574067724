// What the figures of a section mean for a reader, in a sentence or two. A sentence whose figures were not measured, or were too
// noisy to judge, is left out.
import * as names from '../../names.mjs'
import { digits, ratioOf, summary, valuesOf } from './figures.mjs'

const PEERS = [names.EXPRESS, names.FASTIFY, names.KOA, names.FLEXIBLE]
const OURS = [names.BUCKET, names.LOG, names.THREE]
const FRAMEWORKS = ['Express', 'Fastify', 'Koa']

/** The median of a row, or of its ratio to another row; undefined if it was not measured, or was too noisy. */
function middle(run, at, to) {
  if (to) return ratioOf(run, at, to)?.middle
  const values = valuesOf(run, at)
  return values && summary(values).middle
}

/** The least and the greatest median of some rows, as `0.79 to 0.86`; undefined if there is none. */
function span(run, at, rows, to) {
  const values = rows.map((row) => middle(run, { ...at, row }, to)).filter((value) => value !== undefined)
  return spanOf(values)
}

function spanOf(values) {
  if (values.length === 0) return undefined
  const [least, most] = [Math.min(...values), Math.max(...values)].map(digits)
  return least === most ? least : `${least} to ${most}`
}

/** A text whose figures were all measured; undefined if one is missing. */
const told = (figures, text) => (figures.includes(undefined) ? undefined : text(...figures))
const percent = (value) => (value === undefined ? undefined : `${Math.round(100 * value)} %`)
const figure = (value) => (value === undefined ? undefined : digits(value))
const sentences = (...texts) => texts.filter(Boolean).join(' ') || undefined

export function speed(run) {
  const at = (inFlight) => ({ section: `speed-${inFlight}`, grid: 'allowed', figure: 'perSecond' })
  const both = (inFlight) => [OURS, PEERS].map((rows) => span(run, at(inFlight), rows, names.INCR))
  return sentences(
    told(
      both(512),
      (ours, peers) =>
        `With 512 requests in flight, Tollgate makes ${ours} times as many decisions as \`INCR\`, because requests share commands. The other packages make ${peers} times as many.`,
    ),
    told(
      both(1),
      (ours, peers) =>
        `With one request at a time there is nothing to share: Tollgate makes ${ours} times as many, the others ${peers}.`,
    ),
  )
}

export function latency(run) {
  const at = { section: 'latency', grid: 'latency', figure: 'p50' }
  return told(
    [OURS, PEERS].map((rows) => span(run, at, rows)),
    (ours, peers) =>
      `Tollgate adds ${ours} ms to a typical request and the other packages ${peers} ms, plus the trip over your network.`,
  )
}

export function flood(run) {
  const at = { section: 'flood', grid: 'flood', figure: 'perSecond' }
  const rows = [names.LOG, names.FLEXIBLE_BLOCK, names.FLEXIBLE]
  return told(
    rows.map((row) => figure(middle(run, { ...at, row }))),
    (ours, block, asking) =>
      `Tollgate denies ${ours} requests per second from memory without asking Redis. rate-limiter-flexible denies ${block} with its in-memory block, and ${asking} if it asks Redis each time.`,
  )
}

export function accuracy(run) {
  const rows = run.sections.accuracy?.grids?.accuracy ?? {}
  const most = (row) => rows[row] && Math.max(...rows[row].seam)
  const peers = PEERS.map(most).filter((value) => value !== undefined)
  return told([figure(most('Tollgate: sliding log')), spanOf(peers)], (ours, others) =>
    [
      `Tollgate's default, the sliding log, lets ${ours} through and the other packages ${others}.`,
      'Where more than 100 pass, a client gets more than its plan by waiting for the end of a window.',
    ].join(' '),
  )
}

export function memory(run) {
  const at = { section: 'in-memory', grid: 'in-memory', figure: 'us' }
  return told(
    [OURS, [names.FLEXIBLE_MEMORY], [names.EXPRESS_MEMORY]].map((rows) => span(run, at, rows)),
    (ours, flexible, express) =>
      `Tollgate takes ${ours} µs and rate-limiter-flexible ${flexible}. express-rate-limit takes ${express}, since it only adds one to a counter. An HTTP request costs far more than any of them.`,
  )
}

export function http(run) {
  const shares = FRAMEWORKS.map((framework) => {
    const at = { section: `http-${framework.toLowerCase()}`, grid: 'allowed', figure: 'perSecond' }
    const of = (row) => middle(run, { ...at, row }, names.NONE)
    return told(
      [percent(of(names.LOG_100)), percent(of(names.INCR))],
      (ours, incr) =>
        `${framework} with Tollgate on Redis serves ${ours} of the requests that it serves without a limiter. With a bare \`INCR\` it is ${incr}.`,
    )
  })
  return sentences(
    ...shares,
    'The handler here does almost nothing, so expect a smaller loss in a real application.',
  )
}

export function cpu(run) {
  const ratios = (mode) =>
    spanOf(
      FRAMEWORKS.map((framework) =>
        middle(
          run,
          {
            section: 'http-cpu',
            grid: `${framework}, ${mode}`,
            row: names.LOG_100,
            figure: 'cpuUs',
          },
          names.BY_HAND,
        ),
      ).filter((value) => value !== undefined),
    )
  return told(
    [ratios('allowed'), ratios('denied')],
    (allowed, denied) =>
      `For allowed requests, Tollgate takes ${allowed} times the CPU time of the same headers by hand. For denied requests it is ${denied} times.`,
  )
}

export function server(run) {
  const at = { section: 'server', grid: 'server', figure: 'us' }
  return told(
    [OURS, PEERS, [names.LOG_DENIED]].map((rows) => span(run, at, rows)),
    (ours, peers, denied) =>
      `Tollgate takes ${ours} µs of Redis and the other packages ${peers}. A denial takes ${denied} µs if it reaches Redis at all.`,
  )
}

export function bytes(run) {
  const at = { section: 'bytes', grid: 'bytes', figure: 'after 100' }
  const counters = [names.EXPRESS, names.FASTIFY, names.FLEXIBLE]
  const rows = [[names.BUCKET, names.WINDOW, names.THREE], [names.LOG], counters, [names.KOA]]
  return told(
    rows.map((each) => span(run, at, each)),
    (ours, log, others, set) =>
      `With 100 requests in the window, a subject takes ${ours} bytes with Tollgate's buckets and windows, and ${log} with its sliding log. Plain counters take ${others}, and koa-ratelimit's exact log ${set}.`,
  )
}

export function growth(run) {
  const us = (grid, row) => middle(run, { section: 'growth', grid, row, figure: 'us' })
  const ratio = (grid, large, small) => {
    const values = [us(grid, large), us(grid, small)]
    return values.includes(undefined) ? undefined : values[0] / values[1]
  }
  const [one, eight] = ['1', '8'].map((row) => us('limits', row))
  const each = one === undefined || eight === undefined ? undefined : (eight - one) / 7
  return told(
    [ratio('subjects', '1000000', '10000'), ratio('quota', '100000', '100'), each].map(figure),
    (subjects, quota, limit) =>
      `A million subjects cost Redis ${subjects} times as much per decision as 10 000. A quota of 100 000 costs ${quota} times as much as one of 100. Each further limit in a plan adds ${limit} µs.`,
  )
}

export function leases(run) {
  const at = { section: 'leases', grid: 'hot', figure: 'perSecond' }
  return told(
    [names.LEASED, names.UNLEASED].map((row) => figure(middle(run, { ...at, row }))),
    (leased, plain) =>
      `One process makes ${leased} decisions per second for a hot tenant with leases, and ${plain} without. Leases gain nothing for tenants that are not busy.`,
  )
}

export function leaseCurve(run) {
  const fewer = (count) =>
    figure(middle(run, { section: 'lease-curve', grid: count, row: '10000', figure: 'fewer' }))
  return told(
    [fewer('1'), fewer('4')],
    (one, four) =>
      `At 10 000 decisions per second for one tenant, leases need ${one} times fewer Redis commands in one process. In four processes it is ${four} times fewer.`,
  )
}

export function processes(run) {
  const at = { section: 'processes', row: names.BUCKET, figure: 'perSecond' }
  const ratios = ['1', '2', '4', '8'].map((grid) => middle(run, { ...at, grid }, names.INCR))
  return told(
    [spanOf(ratios.filter((value) => value !== undefined))],
    (ours) =>
      `Tollgate's token bucket makes ${ours} times the decisions of a bare \`INCR\` with 1 to 8 processes.`,
  )
}

export function cluster(run) {
  const ratios = (inFlight) =>
    spanOf(
      ['1', '2', '3']
        .map((shards) => ({ section: 'cluster', grid: `${shards} x ${inFlight}`, figure: 'perSecond' }))
        .map((at) => middle(run, { ...at, row: names.BUCKET }, names.INCR))
        .filter((value) => value !== undefined),
    )
  return told(
    [ratios(64), ratios(1)],
    (many, one) =>
      `On 1 to 3 shards, a token bucket makes ${many} times the decisions of a bare \`INCR\` with 64 requests in flight. With one request it is ${one} times. More shards mean smaller batches.`,
  )
}

export function inFlight(run) {
  const ratio = (grid) =>
    figure(middle(run, { section: 'in-flight', grid, row: names.SLOTS_BOTH, figure: 'us' }, names.RATED))
  return told(
    [ratio('lone'), ratio('batches')],
    (lone, batches) =>
      `With a limit such as \`'20 concurrent'\`, a request costs Redis ${lone} times as much as with a rate limit alone, because it also gives its slot back. In batches it is ${batches} times.`,
  )
}

export function shedding(run) {
  const share = (row) => middle(run, { section: 'shedding', grid: 'memory', row, figure: 'pro' })
  return told(
    [names.SHED, names.UNSHED].map((row) => percent(share(row))),
    (shed, plain) =>
      `At three times its capacity, a process with \`shed\` answers ${shed} of the paying plan's requests in time, and without it ${plain}.`,
  )
}

export function ownLimits(run) {
  const at = { section: 'own-limits', row: names.OWN_LIMITS, figure: 'us' }
  return told(
    [figure(middle(run, { ...at, grid: 'memory' }, names.NAMED_PLANS))],
    (ratio) =>
      `A subject that brings its own limits costs ${ratio} times as much Node time as one with a named plan.`,
  )
}

export function billingDays(run) {
  const at = { section: 'billing-days', grid: 'redis', row: names.BILLING_DAYS }
  return told(
    ['us', 'redisUs'].map((one) => figure(middle(run, { ...at, figure: one }, names.ONE_DAY))),
    (node, redis) =>
      `On Redis, subjects with billing days of their own cost ${node} times as much Node time as subjects of one day, and ${redis} times as much of Redis's.`,
  )
}

export function traffic(run) {
  const at = { section: 'traffic', grid: 'redis 64', figure: 'percent' }
  return told(
    [names.TRAFFIC, names.TRAFFIC_WATCHED].map((row) => figure(middle(run, { ...at, row }))),
    (plain, watched) =>
      `On Redis with 64 requests in flight, counting requests by subject takes ${plain} % of Node's CPU time, and ${watched} % while somebody looks.`,
  )
}

export function memcached(run) {
  const at = { section: 'memcached', grid: 'tenants', figure: 'perSecond' }
  const rows = [names.MEMCACHED_ADDRESS, names.MEMCACHED_MEMJS, names.MEMCACHED_NODE]
  return told(
    rows.map((row) => figure(middle(run, { ...at, row }, names.FLEXIBLE_MEMCACHED))),
    (own, memjs, node) =>
      `With its own connection, Tollgate makes ${own} times as many decisions as rate-limiter-flexible, with memjs ${memjs} times and with node-memcached ${node} times. So pass an address if you can.`,
  )
}

export function memcachedClocks(run) {
  const at = { section: 'memcached-accuracy', grid: 'accuracy', row: names.MEMCACHED_ADDRESS }
  const [most, bound, share] = ['most', 'bound', 'share'].map((one) => middle(run, { ...at, figure: one }))
  return told(
    [figure(most), figure(bound), share],
    (inWindow, allowed, part) =>
      `With clocks up to 6 s apart, no window of 0.75 s got more than ${inWindow} requests, where the stated bound is ${allowed}. Over a minute Tollgate let in ${(100 * part).toFixed(1)} % of what an exact counter lets in.`,
  )
}

export function imports(run) {
  const at = { section: 'import', grid: 'time', figure: 'ms' }
  return told(
    [names.IMPORT_CORE, names.EXPRESS].map((row) => figure(middle(run, { ...at, row }))),
    (ours, express) => `Loading @tollgate/core takes ${ours} ms, and express-rate-limit ${express} ms.`,
  )
}
