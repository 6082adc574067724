// What the report shows of each section: tables, their columns, and the chart. Measuring knows nothing of this.
import * as names from '../../names.mjs'
import { HTTP_CPU, IMPORT } from './cost-layouts.mjs'
import { MEMCACHED, MEMCACHED_ACCURACY } from './memcached-layout.mjs'
import { OTHERS } from './other-layouts.mjs'

/**
 * @typedef {object} Column
 * @property {string} head
 * @property {string} figure
 * @property {boolean} [isRatio]
 * @property {boolean} [isInverse] the reference is divided by the value: for times, where less is faster
 * @property {boolean} [isPlain]
 * @property {boolean} [isSmall]    two digits, however small
 * @property {number} [fromRow]    rows of smaller numbers have no value in this column
 */

/** A column of medians with quartiles; `plain` shows the median alone. */
const value = (head, figure) => ({ head, figure })
const plain = (head, figure) => ({ head, figure, isPlain: true })
/** A column of ratios to the reference's row, paired within rounds. */
const times = (head, figure) => ({ head, figure, isRatio: true })

const BY_INCR = { reference: names.INCR, control: names.INCR_AGAIN }
const BY_UNLEASED = {
  ...{ reference: names.UNLEASED, control: names.UNLEASED_AGAIN, judged: 'perSecond' },
}
const BY_RATED = { reference: names.RATED, control: names.RATED_AGAIN }
const BY_NONE = { reference: names.NONE, control: names.NONE_AGAIN }

const SPEED = [
  plain('decisions/s', 'perSecond'),
  times('x INCR', 'perSecond'),
  plain('Node µs', 'nodeUs'),
  times("x INCR's", 'nodeUs'),
  plain('Redis µs', 'serverUs'),
  plain('bytes to Redis', 'bytesIn'),
  plain('from Redis', 'bytesOut'),
]
const HTTP = [
  plain('requests/s', 'perSecond'),
  times('x no limiter', 'perSecond'),
  plain('p50 ms', 'p50'),
  plain('p99 ms', 'p99'),
  plain('Redis µs', 'serverUs'),
]

const speedOf = (inFlight, modes) => ({
  title: `Throughput, ${inFlight} in flight`,
  tables: modes.map((grid) => ({
    grid,
    title: MODE_TITLES[grid],
    columns: SPEED,
    judged: 'perSecond',
    ...BY_INCR,
  })),
})
const MODE_TITLES = {
  allowed: 'All allowed, 10 000 subjects',
  flood: 'One denied tenant floods',
  half: 'Half of each',
}
const httpOf = (framework) => ({
  title: `HTTP: ${framework}`,
  tables: ['allowed', 'flood'].map((grid) => ({
    ...{ grid, title: MODE_TITLES[grid], columns: HTTP, judged: 'perSecond' },
    ...BY_NONE,
  })),
})

const MEMORY_CONTROL = {
  reference: names.FLEXIBLE_MEMORY,
  control: names.FLEXIBLE_MEMORY_AGAIN,
  judged: 'us',
}
const growthTable = (grid, title, head, more = []) => ({
  ...{ grid, title, rowHead: head, columns: [value('Redis µs per decision', 'us'), ...more] },
})

export const LAYOUT = {
  'speed-1': speedOf(1, ['allowed', 'flood']),
  'speed-64': speedOf(64, ['allowed', 'flood', 'half']),
  'speed-512': speedOf(512, ['allowed', 'flood']),
  latency: {
    title: 'Latency',
    tables: [
      {
        ...{ grid: 'latency', judged: 'p50', ...BY_INCR },
        columns: [
          value('p50 ms', 'p50'),
          times('x INCR', 'p50'),
          value('p99 ms', 'p99'),
          plain('longest ms', 'max'),
        ],
      },
    ],
  },
  server: {
    title: "Redis's time per decision",
    tables: [
      {
        ...{ grid: 'server', reference: names.FLOOR, control: names.FLOOR_AGAIN, judged: 'us' },
        columns: [value('µs', 'us'), times('x floor', 'us')],
      },
    ],
  },
  flood: {
    title: 'A flood from one denied tenant',
    tables: [
      {
        ...{ grid: 'flood', judged: 'perSecond' },
        ...{ reference: names.FLEXIBLE_BLOCK, control: `${names.FLEXIBLE_BLOCK}, again` },
        columns: [
          plain('decisions/s', 'perSecond'),
          times('x in-memory block', 'perSecond'),
          plain('Node µs', 'nodeUs'),
          plain('Redis µs', 'serverUs'),
        ],
      },
    ],
  },
  'in-memory': {
    title: 'Decisions in memory',
    tables: [
      {
        ...{ grid: 'in-memory', title: 'All allowed, 10 000 subjects', ...MEMORY_CONTROL },
        columns: [value('µs', 'us'), { ...times('x as fast', 'us'), isInverse: true }],
      },
      {
        ...{ grid: 'denied', title: 'One denied tenant', ...MEMORY_CONTROL },
        columns: [value('µs', 'us'), { ...times('x as fast', 'us'), isInverse: true }],
      },
      { grid: 'heap', title: 'Memory of the process', columns: [plain('bytes per subject', 'bytes')] },
    ],
  },
  bytes: {
    title: "Redis's memory",
    tables: [
      {
        ...{ grid: 'bytes', rowHead: 'bytes per subject' },
        columns: [1, 100, 1000].map((n) => plain(`${n} in the window`, `after ${n}`)),
      },
    ],
  },
  'http-express': httpOf('Express'),
  'http-fastify': httpOf('Fastify'),
  'http-koa': httpOf('Koa'),
  'http-cpu': HTTP_CPU,
  import: IMPORT,
  accuracy: {
    title: 'Accuracy',
    tables: [
      {
        ...{ grid: 'accuracy', rowHead: 'let through by a limit of 100' },
        columns: [
          { head: 'over the seam', figure: 'seam', isRange: true },
          { head: '4 processes at once', figure: 'atOnce', isRange: true },
          { head: 'second clock 30 s ahead', figure: 'ahead', isRange: true },
          { head: '30 s behind', figure: 'behind', isRange: true },
        ],
      },
    ],
  },
  growth: {
    title: 'More subjects, quota and limits',
    tables: [
      growthTable('subjects', 'Subjects, token bucket', 'subjects', [
        { ...plain('bytes per subject', 'bytes'), fromRow: 10_000 },
      ]),
      growthTable('quota', 'Quota of a sliding log that remembers all it can', 'quota'),
      growthTable('limits', 'Limits in a plan, token buckets', 'limits'),
    ],
  },
  processes: {
    title: 'Several processes on one Redis',
    tables: [1, 2, 4, 8].map((count) => ({
      ...{
        grid: String(count),
        title: `${count} ${count === 1 ? 'process' : 'processes'}`,
        judged: 'perSecond',
      },
      ...BY_INCR,
      columns: [
        plain('decisions/s', 'perSecond'),
        times('x INCR', 'perSecond'),
        plain('Redis µs', 'serverUs'),
      ],
    })),
  },
  cluster: {
    title: 'Cluster',
    tables: [1, 2, 3].flatMap((shards) =>
      [1, 64].map((inFlight) => ({
        ...{ grid: `${shards} x ${inFlight}`, judged: 'perSecond', ...BY_INCR },
        title: `${shards} ${shards === 1 ? 'shard' : 'shards'}, ${inFlight} in flight`,
        columns: [
          plain('decisions/s', 'perSecond'),
          times('x INCR', 'perSecond'),
          plain('Node µs', 'nodeUs'),
        ],
      })),
    ),
  },
  leases: {
    title: 'Leases',
    tables: [
      {
        ...{ grid: 'hot', title: 'One hot tenant, one process' },
        ...{ judged: 'perSecond', reference: names.MEMORY, control: names.MEMORY_AGAIN },
        columns: [
          plain('decisions/s', 'perSecond'),
          times('x memory store', 'perSecond'),
          plain('Node µs', 'nodeUs'),
        ],
      },
      {
        ...{
          grid: 'four',
          title: 'One hot tenant, four processes at full speed',
          ...BY_UNLEASED,
          judged: 'per500',
        },
        columns: [
          plain('decisions/s', 'perSecond'),
          { ...plain('commands for 500 decisions', 'per500'), isSmall: true },
          plain('from leases', 'leased'),
        ],
      },
      {
        ...{ grid: 'cold', title: '10 000 tenants, none of them hot', ...BY_UNLEASED },
        columns: [
          plain('decisions/s', 'perSecond'),
          times('x without', 'perSecond'),
          plain('Node µs', 'nodeUs'),
        ],
      },
      {
        ...{ grid: 'cost', title: "Redis's time" },
        columns: [value('µs in scripts', 'us'), value('of the whole server', 'serverUs')],
      },
    ],
  },
  'in-flight': {
    title: 'Requests in flight',
    tables: [
      ...[
        ['batches', "Redis's time, batches of 64"],
        ['lone', "Redis's time, one request in a command"],
      ].map(([grid, title]) => ({
        ...{ grid, title, ...BY_RATED, judged: 'us' },
        columns: [value('µs', 'us'), times('x a rate limit', 'us')],
      })),
      {
        ...{ grid: 'bytes', title: 'Bytes of a subject, 1000 requests in flight in 4 processes' },
        columns: [plain('of the value', 'strlen'), plain('of key and value', 'usage')],
      },
      ...[
        ['memory', 'One process in memory'],
        ['redis', 'One process on Redis'],
      ].map(([grid, title]) => ({
        ...{ grid, title: `${title}, 64 begin at once`, ...BY_RATED, judged: 'perSecond' },
        columns: [
          plain('requests/s', 'perSecond'),
          times('x a rate limit', 'perSecond'),
          plain('Node µs', 'nodeUs'),
        ],
      })),
      ...[
        ['four', 'Four processes at full speed'],
        ['four steady', 'Four processes, 2000 requests per second of 20 ms each'],
      ].map(([grid, title]) => ({
        ...{ grid, title: `${title}, one tenant` },
        columns: [plain('requests/s', 'perSecond'), plain('commands for 1000', 'per1000')],
      })),
      {
        ...{ grid: 'waiting', title: 'Waiting in line: ms after the booked time' },
        columns: [
          plain('p50', 'p50'),
          plain('p99', 'p99'),
          plain('longest', 'max'),
          plain('commands while all wait', 'calls'),
        ],
      },
    ],
  },
  'lease-curve': {
    title: 'Commands against offered load',
    tables: [1, 4].map((count) => ({
      ...{ grid: String(count), rowHead: 'decisions/s asked for' },
      title: `${count} ${count === 1 ? 'process' : 'processes'}, one tenant`,
      columns: [
        plain('decisions/s without', 'plainDecisions'),
        plain('commands/s', 'plainCommands'),
        plain('decisions/s with leases', 'leasedDecisions'),
        plain('commands/s', 'leasedCommands'),
        value('x fewer per decision', 'fewer'),
      ],
    })),
  },
  ...OTHERS,
  memcached: MEMCACHED,
  'memcached-accuracy': MEMCACHED_ACCURACY,
}
