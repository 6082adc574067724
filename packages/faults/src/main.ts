// npm run faults: runs applications under load through every way in which a store fails. --short uses one framework
// per fault, and does not judge times.
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import type { Case } from './application.ts'
import { violationsOf } from './checks.ts'
import { runOnCluster } from './cluster/cluster.ts'
import { resultsPage, sectionOf, sectionsIn } from './results.ts'
import { runThrough } from './run.ts'
import {
  CHECKS,
  EVERY_CHECK,
  FRAMEWORKS,
  FULL,
  POLICIES,
  SHORT,
  UNTIMED_CHECKS,
  type Framework,
  type Policy,
} from './settings.ts'
import { soak } from './soak/soak.ts'
import { STORES } from './stores/index.ts'
import type { StoreUnderTest } from './stores/store.ts'
import { summaryOf, withSummary } from './summary.ts'
import { brokenIn, head, lineOf, rowOf, type Row } from './table.ts'

const { values: options, positionals } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
    store: { type: 'string', default: '' },
    fault: { type: 'string', default: '' },
    framework: { type: 'string', default: '' },
    policy: { type: 'string', default: '' },
    soak: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
  // The minutes of a soak run, or the seconds of a run on a cluster.
  allowPositionals: true,
})

const RESULTS = fileURLToPath(new URL('../RESULTS.md', import.meta.url))
const DOCS = fileURLToPath(new URL('../../../docs/operations/faults.md', import.meta.url))

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const checks = options.strict ? EVERY_CHECK : options.short ? UNTIMED_CHECKS : CHECKS
/** Short runs mostly wait, and judge no times. */
const SHORT_AT_ONCE = 2
/** The disturbance alone takes several seconds. */
const LEAST_SECONDS = 10

process.exitCode = await start()

function start(): Promise<number> {
  if (options.cluster) return clusterFor(positionals[0])
  return options.soak ? soakFor(positionals[0]) : runAll()
}

function clusterFor(given = '60'): Promise<number> {
  const seconds = Number(given)
  const seed = Number(options.seed)
  if (!(seconds >= LEAST_SECONDS) || !Number.isInteger(seed))
    throw new Error('--cluster SECONDS --seed NUMBER')
  return runOnCluster({ seconds, seed, say })
}

function soakFor(given = '10'): Promise<number> {
  const minutes = Number(given)
  const seed = Number(options.seed)
  if (!(minutes > 0) || !Number.isInteger(seed)) throw new Error('--soak MINUTES --seed NUMBER')
  return soak({ minutes, seed, checks, say })
}

async function runAll(): Promise<number> {
  let runs = 0
  let wrong = 0
  for (const store of STORES) {
    const rows = await runOn(store)
    runs += rows.length
    wrong += rows.reduce((sum, row) => sum + brokenIn(row), 0)
  }
  if (runs === 0) throw new Error('No such store, fault, framework or policy.')
  say(`\n${runs} runs, ${wrong} violations`)
  return wrong === 0 ? 0 : 1
}

/** Runs the chosen cases of a store, and keeps their rows if all were chosen. */
async function runOn(store: StoreUnderTest): Promise<Row[]> {
  const cases = (options.short ? inTurn(store) : all(store)).filter(isWanted)
  if (cases.length === 0) return []
  const rows: Row[] = []
  say(`\n## ${store.title}\n\n${head()}`)
  const atOnce = options.short ? SHORT_AT_ONCE : 1
  for (let i = 0; i < cases.length; i += atOnce) {
    const some = await Promise.all(cases.slice(i, i + atOnce).map(rowThrough))
    for (const row of some) say(lineOf(row))
    rows.push(...some)
  }
  // Write only a whole run to the docs, judged by the rules that the docs name.
  if (!options.short && !options.strict && cases.length === all(store).length) keep(store, rows)
  return rows
}

async function rowThrough(each: Case): Promise<Row> {
  const run = await runThrough(each, options.short ? SHORT : FULL)
  return rowOf(run, violationsOf(run, checks))
}

/** Writes all rows of a store to packages/faults/RESULTS.md, and their summary to docs/operations/faults.md. */
function keep({ title }: StoreUnderTest, rows: readonly Row[]): void {
  const date = new Date().toISOString().slice(0, 10)
  const section = sectionOf(title, rows, { date, node: process.version, cores: availableParallelism() })
  const sections = { ...sectionsIn(readFileSync(RESULTS, 'utf8')), [title]: section }
  const docs = withSummary(readFileSync(DOCS, 'utf8'), title, summaryOf(rows))
  writeFileSync(RESULTS, resultsPage(sections))
  writeFileSync(DOCS, docs)
  say('\nWritten: packages/faults/RESULTS.md, and its summary in docs/operations/faults.md.')
}

function all(store: StoreUnderTest): Case[] {
  return store.faults.flatMap((fault) =>
    FRAMEWORKS.flatMap((framework) => POLICIES.map((policy) => ({ store, fault, framework, policy }))),
  )
}

/** Every fault once. Frameworks and policies rotate, so that each framework runs with each policy. */
function inTurn(store: StoreUnderTest): Case[] {
  return store.faults.map((fault, i) => ({
    store,
    fault,
    framework: FRAMEWORKS[i % FRAMEWORKS.length] as Framework,
    policy: POLICIES[Math.floor(i / FRAMEWORKS.length) % POLICIES.length] as Policy,
  }))
}

function isWanted({ store, fault, framework, policy }: Case): boolean {
  return (
    store.name.startsWith(options.store) &&
    fault.name.includes(options.fault) &&
    framework.startsWith(options.framework) &&
    policy.startsWith(options.policy)
  )
}
