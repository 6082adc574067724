// The charts of the page, drawn from a run. A chart whose figures are missing is left out.
import * as names from '../names.mjs'
import { ratioOf, summary, valuesOf } from './words/figures.mjs'
import { barChart, lineChart } from './svg.mjs'

const MEDIANS = 'Bars are medians, thin lines quartiles.'
const MORE = 'More is better.'
const LESS = 'Less is better.'

const MAIN = [
  ...[names.BUCKET, names.LOG, names.THREE],
  ...[names.EXPRESS, names.FASTIFY, names.KOA, names.FLEXIBLE],
]

/** A row of bars for each name, and in it one for each series. Rows without any figure are left out. */
function rowsOf(wanted, series, read) {
  return wanted
    .map((label) => ({ label, isOurs: names.isOurs(label), values: series.map((one) => read(label, one)) }))
    .filter(({ values }) => values.some((value) => value !== undefined))
}

const figureOf = (run, at) => {
  const values = valuesOf(run, at)
  return values && summary(values)
}

const CHARTS = {
  speed: (run) => ({
    title: 'Decisions per second',
    unit: ['As a multiple of a bare INCR in the same round.', MORE],
    note: ['One process with one ioredis client, all allowed.', MEDIANS],
    series: ['512 in flight', '64 in flight', '1 in flight'],
    rows: rowsOf([...MAIN, names.SCRIPT, names.INCR_PIPELINED], [512, 64, 1], (row, inFlight) =>
      ratioOf(run, { section: `speed-${inFlight}`, grid: 'allowed', row, figure: 'perSecond' }, names.INCR),
    ),
    mark: { at: 1, label: 'INCR' },
  }),
  latency: (run) => ({
    title: 'Latency at 4000 decisions per second',
    unit: ['ms until half of the requests are answered (p50).', LESS],
    note: ['Counted from the time a request was due.', MEDIANS],
    series: [''],
    rows: rowsOf([names.INCR, ...MAIN], ['p50'], (row, figure) =>
      figureOf(run, { section: 'latency', grid: 'latency', row, figure }),
    ),
  }),
  server: (run) => ({
    title: "Redis's time per decision",
    unit: ['µs in the commands of a decision, in batches of 64.', LESS],
    note: ['The floor reads and writes each key, and decides nothing.', MEDIANS],
    series: [''],
    rows: rowsOf([names.FLOOR, names.INCR, ...MAIN, names.LOG_DENIED], ['us'], (row, figure) =>
      figureOf(run, { section: 'server', grid: 'server', row, figure }),
    ),
  }),
  flood: (run) => ({
    title: 'A flood from one denied tenant',
    unit: ['Answers per second from one process.', MORE],
    note: ['64 requests in flight.', 'Fast denials leave more time for other tenants.', MEDIANS],
    series: [''],
    rows: rowsOf(
      [names.BUCKET, names.LOG, names.LOG_ASKED, names.FLEXIBLE_BLOCK, names.FLEXIBLE, names.INCR],
      ['perSecond'],
      (row, figure) => figureOf(run, { section: 'flood', grid: 'flood', row, figure }),
    ),
  }),
  'in-memory': (run) => ({
    title: 'A decision in memory',
    unit: ['µs per awaited decision.', LESS],
    note: ['One process, 10,000 subjects, all allowed.', MEDIANS],
    series: [''],
    rows: rowsOf(
      [
        names.BUCKET,
        names.FIXED,
        names.WINDOW,
        names.LOG,
        names.THREE,
        names.FLEXIBLE_MEMORY,
        names.EXPRESS_MEMORY,
      ],
      ['us'],
      (row, figure) => figureOf(run, { section: 'in-memory', grid: 'in-memory', row, figure }),
    ),
  }),
  bytes: (run) => ({
    title: 'Redis memory per subject',
    unit: ['Bytes, with the share of the key tables.', LESS],
    note: [
      'With 1 and with 100 requests in the window.',
      'With 1000, a sorted set takes more than 100,000 bytes.',
    ],
    series: ['1 request', '100 requests'],
    rows: rowsOf([...MAIN, names.LOG_EXACT, names.INCR], ['after 1', 'after 100'], (row, figure) =>
      figureOf(run, { section: 'bytes', grid: 'bytes', row, figure }),
    ),
  }),
  ...Object.fromEntries(
    ['express', 'fastify', 'koa'].map((framework) => [`http-${framework}`, httpChart(framework)]),
  ),
  accuracy: (run) => ({
    title: 'Let through by a limit of 100',
    unit: ['Requests within 8 % of a window, around its end.', '100 is right.'],
    note: ['150 are sent shortly before the end and 150 shortly after.', 'Bars are the most of all repeats.'],
    series: [''],
    rows: rowsOf(Object.keys(run.sections.accuracy?.grids?.accuracy ?? {}), ['seam'], (row, figure) => {
      const most = Math.max(...valuesOf(run, { section: 'accuracy', grid: 'accuracy', row, figure }))
      return { low: most, middle: most, high: most }
    }),
    mark: { at: 100, label: 'the limit' },
  }),
}

function httpChart(framework) {
  const title = { express: 'Express', fastify: 'Fastify', koa: 'Koa' }[framework]
  const peer = { express: names.EXPRESS, fastify: names.FASTIFY, koa: names.KOA }[framework]
  const section = `http-${framework}`
  const wanted = [names.LOG_100, names.BUCKET, peer, names.FLEXIBLE, names.FLEXIBLE_BLOCK, names.INCR]
  return (run) => ({
    title: `${title}: requests per second`,
    unit: ['As a multiple of the application without a limiter.', MORE],
    note: [
      '64 connections. In the flood, one tenant is denied.',
      'A denial is shorter than an answer, so it can be faster.',
      MEDIANS,
    ],
    series: ['allowed', 'flood'],
    rows: rowsOf(wanted, ['allowed', 'flood'], (row, grid) =>
      ratioOf(run, { section, grid, row, figure: 'perSecond' }, names.NONE),
    ),
    mark: { at: 1, label: 'no limiter' },
  })
}

/** How often the cost is the first one's, against how often the size is. */
function growthChart(run) {
  const grids = run.sections.growth?.grids
  if (!grids) return undefined
  const curve = (grid, label) => {
    const points = Object.entries(grids[grid]).map(([size, { us }]) => [Number(size), summary(us).middle])
    return { label, points: points.map(([size, us]) => [size / points[0][0], us]) }
  }
  return lineChart({
    title: 'More subjects, quota and limits',
    unit: ['µs of Redis per decision.'],
    note: ['Each line starts at one subject, a quota of 1, or one limit.'],
    lines: [
      curve('subjects', 'subjects'),
      curve('quota', 'quota of a log'),
      curve('limits', 'limits in a plan'),
    ],
  })
}

/** Series without any figure, such as those that were too noisy to judge, are left out. */
function withoutEmptySeries({ series, rows, ...chart }) {
  const isUsed = (_, i) => rows.some(({ values }) => values[i])
  return {
    ...chart,
    series: series.filter(isUsed),
    rows: rows.map(({ values, ...row }) => ({ ...row, values: values.filter(isUsed) })),
  }
}

/**
 * @param run as it is published
 * @returns {Record<string, string>} SVG by the chart's name
 */
export function chartsOf(run) {
  const charts = {}
  for (const [name, make] of Object.entries(CHARTS)) {
    const chart = withoutEmptySeries(make(run))
    if (chart.rows.length > 0) charts[name] = barChart(chart)
  }
  const growth = growthChart(run)
  return growth ? { ...charts, growth } : charts
}
