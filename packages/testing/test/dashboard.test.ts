// The dashboard and the alerts of examples/metrics-prometheus name only what the example exports.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { samplesIn, type Sample } from '../../metrics/test/exposition.ts'
import { eventually, freePort, startRedis, type RedisServer } from '../src/index.ts'
import { root } from './docs-pages.ts'
import { readExpression } from './promql.ts'

const example = join(root, 'examples/metrics-prometheus')
const read = (file: string): string => readFileSync(join(example, file), 'utf8')

interface Panel {
  readonly title: string
  readonly type: string
  readonly targets?: readonly { readonly expr: string }[]
}
interface Dashboard {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] }
}
const dashboard = JSON.parse(read('dashboard.json')) as Dashboard
const charts = dashboard.panels.filter(({ type }) => type !== 'row')
const alerts = read('alerts.yml')

/** The expressions of the alerts: one line, or the indented lines after a `|`. */
const alertExpressions = [...alerts.matchAll(/^ {8}expr: (?:\|\n((?: {10}.*\n)+)|(.*)$)/gm)].map(
  ([, block, line]) => block ?? line ?? '',
)
const EXPRESSIONS: readonly (readonly [where: string, text: string])[] = [
  ...charts.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)),
  ...alertExpressions.map((text) => ['an alert', text.trim()] as const),
]

let redis: RedisServer
let app: ChildProcess
let url: string
let samples: readonly Sample[]

const scrape = async (): Promise<Sample[]> => samplesIn(await (await fetch(`${url}/metrics`)).text())

async function ask(times: number, tenant: string): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    const response = await fetch(`${url}/items`, { headers: { 'x-api-key': `key-of-${tenant}` } })
    await response.arrayBuffer()
  }
}

/** Has all that the charts show: denials, a line, a top-up, and an outage of Redis. */
async function drive(): Promise<void> {
  await ask(8, 'acme')
  await ask(3, 'globex')
  await eventually(async () => {
    await Promise.all(Array.from({ length: 10 }, () => ask(1, 'initech')))
    return (await scrape()).some(({ name }) => name === 'tollgate_request_wait_time_count')
  })
  let orders = 0
  // With a new key each time: if Redis booked one too late, a repeated call would not be counted.
  await eventually(async () => {
    orders += 1
    app.send({ limit: 'month', units: 10, for: '1d', key: `order-${orders}` })
    return (await once(app, 'message'))[0] === 'booked'
  })
  await redis.kill()
  await eventually(async () => {
    await ask(1, 'globex')
    return (await scrape()).some(({ name }) => name === 'tollgate_fallback_decisions_total')
  })
}

beforeAll(async () => {
  redis = await startRedis()
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  app = fork(join(example, 'src/app.js'), {
    env: { ...process.env, PORT: String(port), REDIS_URL: redis.url },
    execArgv: ['--import', join(__dirname, 'limiter-by-message.mjs')],
    // ioredis prints that Redis is gone.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  await eventually(async () => (await fetch(`${url}/ready`)).status === 200)
  await drive()
  samples = await scrape()
}, 120_000)

afterAll(async () => {
  app.kill('SIGKILL')
  await once(app, 'exit')
  await redis.kill()
})

/** Labels that Prometheus adds when it scrapes. */
const ADDED = ['instance', 'job']

/** What is wrong with an expression, given what is exported. */
function faultsIn(text: string, exported: readonly Sample[]): string[] {
  const { selectors, groupedBy } = readExpression(text)
  return selectors.flatMap(({ metric, labels, equal }) => {
    const series = exported.filter(({ name }) => name === metric)
    if (series.length === 0) return [`no metric ${metric}`]
    const missing = [...labels, ...groupedBy].filter(
      (label) => !ADDED.includes(label) && !series.some((sample) => label in sample.labels),
    )
    const unmet = equal.filter(([label, value]) => !series.some((sample) => sample.labels[label] === value))
    return [
      ...missing.map((label) => `${metric} has no label ${label}`),
      ...unmet.map(([label, value]) => `${metric} has no ${label} ${value}`),
    ]
  })
}

test.each(EXPRESSIONS)('%s: %s', (_, text) => {
  expect(readExpression(text).selectors.length).toBeGreaterThan(0)
  expect(faultsIn(text, samples)).toEqual([])
})

test('a misspelt metric, label or value is found', () => {
  const faults = (text: string): string[] => faultsIn(text, samples)
  expect(faults('sum(rate(tollgate_decision_total[5m]))')).toEqual(['no metric tollgate_decision_total'])
  expect(faults('sum by (plan) (tollgate_decisions_total)')).toEqual([
    'tollgate_decisions_total has no label plan',
  ])
  expect(faults('tollgate_decisions_total{plan=~"free"}')).toEqual([
    'tollgate_decisions_total has no label plan',
  ])
  expect(faults('tollgate_breaker_status{tollgate_breaker_state="opened"} > 0')).toEqual([
    'tollgate_breaker_status has no tollgate_breaker_state opened',
  ])
  expect(faults('rate(a[5m]) / on (job) rate(b[5m]) unless c')).toEqual([
    'no metric a',
    'no metric b',
    'no metric c',
  ])
})

test('the variable for limiters lists their names', () => {
  const { definition = '' } = dashboard.templating.list.find(({ name }) => name === 'limiter') ?? {}
  const [, metric, label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(definition) ?? []
  const names = samples.filter(({ name }) => name === metric).map(({ labels }) => labels[label])
  expect(new Set(names)).toEqual(new Set(['api']))
})

test('every chart has an expression, and every one on limiters heeds the variable', () => {
  expect(charts.length).toBeGreaterThan(10)
  for (const { title, targets = [] } of charts) {
    expect([title, targets.length > 0]).toEqual([title, true])
    for (const { expr } of targets)
      for (const { metric, labels } of readExpression(expr).selectors)
        expect([title, metric, labels]).toEqual([
          title,
          metric,
          expect.arrayContaining(['tollgate_limiter_name']),
        ])
  }
})

test('docs/operations/metrics.md shows the alerts as they are, and every alert has an expression', () => {
  const page = readFileSync(join(root, 'docs/operations/metrics.md'), 'utf8')
  expect(page).toContain(`\`\`\`yaml\n${alerts}\`\`\`\n`)
  expect(alertExpressions.length).toBe(alerts.match(/- alert:/g)?.length)
  expect(alertExpressions.length).toBeGreaterThan(5)
})
