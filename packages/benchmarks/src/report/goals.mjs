// What the project set itself to reach, and what a run says of it.
import * as names from '../names.mjs'
import { digits, ratioOf, summary, valuesOf } from './words/figures.mjs'

/**
 * @typedef {object} Goal
 * @property {string} what
 * @property {string} detail  which row
 * @property {string} section
 * @property {string} grid
 * @property {string} row
 * @property {string} figure
 * @property {string} [to]    the row that the value is divided by; without one, the value itself counts
 * @property {boolean} [inverse] the reference is divided by the value: for times, where less is faster
 * @property {'>=' | '<='} [sign]
 * @property {number} [bound] without one, the row shows what the machine allows
 * @property {string} [limit] the row of the grid that shows what the machine allows
 */

/** The verdict of a row, and the head of a column, that shows what the machine allows. */
export const LIMIT = "the machine's limit"

const SHORT = {
  [names.BUCKET]: 'token bucket',
  [names.LOG]: 'sliding log 1000/min',
  [names.THREE]: 'three limits',
}

const speedGoals = (inFlight, bounds, limit) =>
  Object.entries(SHORT).map(([row, detail], i) => ({
    ...{ what: `decisions/s, ${inFlight} in flight, x bare INCR`, detail, section: `speed-${inFlight}` },
    ...{ grid: 'allowed', row, figure: 'perSecond', to: names.INCR, sign: '>=', bound: bounds[i], limit },
  }))

const BATCHES = {
  what: "Redis's time per decision in batches of 64",
  section: 'server',
  grid: 'server',
  figure: 'us',
}

const serverGoal = (row, detail, bound, limit) => ({
  ...{ ...BATCHES, what: `${BATCHES.what}, x floor`, detail, row, to: names.FLOOR, sign: '<=', bound, limit },
})

/** What no script can do better on this machine. */
const LONE_LIMIT = {
  ...{ what: 'decisions/s, 1 in flight, x bare INCR', detail: names.SCRIPT, section: 'speed-1' },
  ...{ grid: 'allowed', row: names.SCRIPT, figure: 'perSecond', to: names.INCR },
}
const BATCH_LIMIT = {
  ...{
    ...BATCHES,
    what: `${BATCHES.what}, x bare INCR`,
    detail: names.FLOOR,
    row: names.FLOOR,
    to: names.INCR,
  },
}

const httpGoals = (framework, to, bounds) =>
  ['allowed', 'flood'].map((grid, i) => ({
    ...{ what: `${framework} with Redis, requests/s, x ${to === names.NONE ? 'no limiter' : 'bare INCR'}` },
    ...{ detail: `${grid}, sliding log 100/min`, section: `http-${framework.toLowerCase()}`, grid },
    ...{ row: names.LOG_100, figure: 'perSecond', to, sign: '>=', bound: bounds[i] },
    limit: to === names.NONE ? names.INCR : names.NONE,
  }))

const bytesGoal = (row, detail, bound, more) => ({
  ...{ what: 'bytes in Redis per subject', detail, section: 'bytes', grid: 'bytes', row, sign: '<=', bound },
  ...more,
})

const slotsGoal = (detail, grid) => ({
  ...{ what: "Redis's time to let a request in, x the rate limit alone", detail, section: 'in-flight', grid },
  ...{ row: names.SLOTS_BEGIN, figure: 'us', to: names.RATED, sign: '<=', bound: 1.5 },
})

const waitingGoal = (what, figure, bound) => ({
  ...{ what, detail: '50 in line', section: 'in-flight', grid: 'waiting', row: names.WAITING },
  ...{ figure, sign: '<=', bound },
})

const memcachedGoals = (detail, grid) =>
  [names.MEMCACHED_NODE, names.MEMCACHED_ADDRESS].map((row) => ({
    ...{
      what: "Memcached, decisions/s, 64 in flight, x rate-limiter-flexible's limiter",
      section: 'memcached',
    },
    ...{ detail: `${detail}, ${row.replace('Tollgate: ', '')}`, grid, row, figure: 'perSecond' },
    ...{ to: names.FLEXIBLE_MEMCACHED, sign: '>=', bound: 1.5 },
  }))

const memcachedGoal = (what, goal) => ({
  ...{ what: `Memcached, ${what}`, section: 'memcached', row: names.MEMCACHED_ADDRESS },
  ...goal,
})

const CLOCKS = { section: 'memcached-accuracy', grid: 'accuracy', detail: 'a limit of 200 per second' }

const sheddingGoal = (detail, grid) => ({
  ...{ what: 'goodput of the paying plan at 3 x capacity', detail, section: 'shedding', grid },
  ...{ row: names.SHED, figure: 'pro', sign: '>=', bound: 0.95 },
})

const ownLimitsGoal = (detail, grid) => ({
  ...{
    what: "Node's time per decision with own limits, x named plans",
    detail,
    section: 'own-limits',
    grid,
  },
  ...{ row: names.OWN_LIMITS, figure: 'us', to: names.NAMED_PLANS, sign: '<=', bound: 1.2 },
})

const billingGoal = (what, grid, figure, bound) => ({
  ...{ what: `${what} per decision with billing days, x one day for all`, section: 'billing-days', grid },
  ...{ detail: grid === 'redis' ? 'Redis, batches of 64' : 'memory store', row: names.BILLING_DAYS, figure },
  ...{ to: names.ONE_DAY, sign: '<=', bound },
})

const trafficGoal = (grid, row) => ({
  ...{ what: "% of Node's CPU time for figures about traffic", section: 'traffic', grid },
  ...{ detail: `${grid}, ${row}`, row, figure: 'percent', sign: '<=', bound: 3 },
})

const cpuGoals = (framework, bounds) =>
  ['allowed', 'denied'].map((mode, i) => ({
    ...{ what: `Node's CPU time per request on ${framework}, memory store, x by hand`, detail: mode },
    ...{ section: 'http-cpu', grid: `${framework}, ${mode}`, row: names.LOG_100, figure: 'cpuUs' },
    ...{ to: names.BY_HAND, sign: '<=', bound: bounds[i] },
  }))

const LOADING = { what: 'ms to load', section: 'import', grid: 'time', figure: 'ms' }
const PUBLISHED = { what: 'kB of JavaScript', section: 'import', grid: 'size', figure: 'packageKb' }
const importGoal = (of, row, bound) => ({
  ...of,
  ...{ detail: row.replace('Tollgate: ', ''), row, sign: '<=', bound },
})

/** @type {Goal[]} */
export const GOALS = [
  slotsGoal('requests in flight, alone in a command', 'lone'),
  slotsGoal('requests in flight, batches of 64', 'batches'),
  {
    ...{
      what: 'bytes of Redis with 1000 requests in flight',
      detail: 'in 4 processes, with the key',
      section: 'in-flight',
    },
    ...{ grid: 'bytes', row: names.SLOTS, figure: 'usage', sign: '<=', bound: 204 },
  },
  waitingGoal('ms that a request waits beyond its booked time, p99', 'p99', 20),
  waitingGoal('commands while requests wait', 'calls', 0),
  ...memcachedGoals('1000 tenants', 'tenants'),
  ...memcachedGoals('one hot tenant', 'hot'),
  memcachedGoal('commands per decision, without reads in the same trip', {
    ...{ detail: '1000 tenants', grid: 'tenants', figure: 'changes', sign: '<=', bound: 1 },
  }),
  memcachedGoal('4 processes, clocks 2 s apart: most in a window that is 0.25 s shorter', {
    ...{ ...CLOCKS, figure: 'most', sign: '<=', bound: 399 },
  }),
  memcachedGoal('4 processes, clocks 2 s apart: share of what an exact counter lets in', {
    ...{ ...CLOCKS, figure: 'share', sign: '>=', bound: 0.97 },
  }),
  sheddingGoal('memory store', 'memory'),
  sheddingGoal('Redis', 'redis'),
  ownLimitsGoal('memory store', 'memory'),
  ownLimitsGoal('Redis', 'redis'),
  billingGoal("Node's time", 'memory', 'us', 1.1),
  billingGoal("Node's time", 'redis', 'us', 1.1),
  billingGoal("Redis's time", 'redis', 'redisUs', 1.2),
  ...['memory', 'redis 1', 'redis 64', 'redis 512'].flatMap((grid) =>
    [names.TRAFFIC, names.TRAFFIC_WATCHED].map((row) => trafficGoal(grid, row)),
  ),
  ...speedGoals(512, [3, 2.5, 2], names.SCRIPT_BATCHES),
  ...speedGoals(64, [2, 1.8, 1.4], names.SCRIPT_BATCHES),
  ...speedGoals(1, [0.95, 0.9, 0.85], names.SCRIPT),
  LONE_LIMIT,
  serverGoal(names.BUCKET, 'token bucket', 1.6, names.FLOOR),
  serverGoal(names.LOG_100, 'sliding log 100/min', 2.2, names.FLOOR),
  serverGoal(names.THREE, 'three limits', 2.8, names.FLOOR),
  // No floor beside it: this batch has one key, and the floor reads and writes 64.
  serverGoal(names.LOG_DENIED, 'one denied tenant, every denial asked', 0.3),
  BATCH_LIMIT,
  {
    ...{
      what: "Node's CPU time per decision, 64 in flight, x bare INCR's",
      detail: 'token bucket',
      section: 'speed-64',
    },
    ...{ grid: 'allowed', row: names.BUCKET, figure: 'nodeUs', to: names.INCR, sign: '<=', bound: 0.3 },
    limit: names.SCRIPT_BATCHES,
  },
  {
    ...{ what: "a decision in memory, x rate-limiter-flexible's memory limiter", detail: 'token bucket' },
    ...{
      section: 'in-memory',
      grid: 'in-memory',
      row: names.BUCKET,
      figure: 'us',
      to: names.FLEXIBLE_MEMORY,
    },
    ...{ inverse: true, sign: '>=', bound: 1.5 },
  },
  ...[names.BUCKET, names.LOG].map((row) => ({
    ...{
      what: "a flood of one denied tenant, x rate-limiter-flexible's in-memory block",
      detail: SHORT[row],
    },
    ...{
      section: 'flood',
      grid: 'flood',
      row,
      figure: 'perSecond',
      to: names.FLEXIBLE_BLOCK,
      sign: '>=',
      bound: 2,
    },
  })),
  ...httpGoals('Fastify', names.NONE, [0.88, 0.97]),
  ...httpGoals('Koa', names.NONE, [0.98, 1]),
  ...httpGoals('Express', names.INCR, [1.1, 1.3]),
  ...cpuGoals('Fastify', [1.12, 1.12]),
  ...cpuGoals('Express', [1.05, 1.1]),
  ...cpuGoals('Koa', [1.06, 1.1]),
  importGoal(LOADING, names.IMPORT_CORE, 70),
  importGoal(PUBLISHED, names.IMPORT_CORE, 450),
  importGoal(PUBLISHED, names.REQUIRE_CORE, 450),
  bytesGoal(names.BUCKET, 'one limit', 150, { figure: 'after 1', limit: names.BARE_KEY }),
  bytesGoal(names.THREE, 'three limits', 190, { figure: 'after 1000' }),
  bytesGoal(names.LOG, 'log of 1000 in 128 slots', 217, { figure: 'after 1000' }),
  bytesGoal(names.LOG_EXACT, 'log of 1000, exact', 6400, { figure: 'after 1000' }),
  {
    ...{
      what: 'leased hot tenant, decisions/s of one process, x our own memory store',
      detail: 'token bucket',
    },
    ...{ section: 'leases', grid: 'hot', row: names.LEASED, figure: 'perSecond', to: names.MEMORY },
    ...{ sign: '>=', bound: 1 },
  },
  {
    ...{
      what: 'commands for 500 decisions, 4 processes at full speed on one tenant',
      detail: 'token bucket',
    },
    ...{ section: 'leases', grid: 'four', row: names.LEASED, figure: 'per500', sign: '<=', bound: 1 },
  },
  {
    ...{
      what: 'tenants that are not hot, decisions/s, a plan with leases x without',
      detail: 'token bucket',
    },
    ...{ section: 'leases', grid: 'cold', row: names.LEASED, figure: 'perSecond', to: names.UNLEASED },
    ...{ sign: '>=', bound: 0.97 },
  },
]

/**
 * @param run as it is published
 * @returns every goal with `value`, `verdict` and `limitText`; a goal whose section is missing is `not measured`
 */
export function judge(run) {
  return GOALS.map((goal) => {
    const value = valueOf(run, goal)
    if (value === undefined)
      return { ...goal, verdict: isNoisy(run, goal) ? 'too noisy to judge' : 'not measured' }
    if (goal.bound === undefined) return { ...goal, value, verdict: LIMIT }
    const isReached = goal.sign === '>=' ? value >= goal.bound : value <= goal.bound
    return { ...goal, value, verdict: isReached ? 'reached' : 'not reached', limitText: limitOf(run, goal) }
  })
}

function valueOf(run, { to, inverse, ...at }) {
  if (to === undefined) {
    const values = valuesOf(run, at)
    return values && summary(values).middle
  }
  return inverse ? ratioOf(run, { ...at, row: to }, at.row)?.middle : ratioOf(run, at, to)?.middle
}

function limitOf(run, { limit, to, ...at }) {
  if (!limit) return ''
  const middle = valueOf(run, { ...at, row: limit, to })
  return middle === undefined ? '' : `${digits(middle)} (${limit})`
}

const isNoisy = (run, { section, grid }) => run.sections[section]?.noise?.[grid] !== undefined
