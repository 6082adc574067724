// npm run faults: runs applications under load through every way in which a Redis fails. --short uses one framework
// per fault, and does not judge times.
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { violationsOf } from './checks.ts'
import { runOnCluster } from './cluster/cluster.ts'
import { FAULTS, type Fault } from './faults.ts'
import { resultsPage } from './results.ts'
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
import { summaryOf, withSummary } from './summary.ts'
import { head, lineOf, rowOf, type Row } from './table.ts'

interface Case {
  readonly fault: Fault
  readonly framework: Framework
  readonly policy: Policy
}

const { values: options, positionals } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    strict: { type: 'boolean', default: false },
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
const DOCS = fileURLToPath(new URL('../../../docs/faults.md', import.meta.url))

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const checks = options.strict ? EVERY_CHECK : options.short ? UNTIMED_CHECKS : CHECKS
/** The disturbance alone takes several of them. */
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
  const cases = (options.short ? inTurn() : all()).filter(isWanted)
  if (cases.length === 0) throw new Error('No such fault, framework or policy.')
  let wrong = 0
  const rows: Row[] = []
  say(head())
  for (const each of cases) {
    const run = await runThrough(each.fault, each.framework, each.policy, options.short ? SHORT : FULL)
    const violations = violationsOf(run, checks)
    const row = rowOf(run, violations)
    say(lineOf(row))
    rows.push(row)
    wrong += violations.length
  }
  // What is kept is a whole run, judged by the rules that the docs name.
  if (!options.short && !options.strict && cases.length === all().length) keep(rows)
  say(`\n${cases.length} runs, ${wrong} violations`)
  return wrong === 0 ? 0 : 1
}

/** Writes the page of all rows, and the summary of it on the page that readers see. */
function keep(rows: readonly Row[]): void {
  const date = new Date().toISOString().slice(0, 10)
  const origin = { date, node: process.version, cores: availableParallelism() }
  const docs = withSummary(readFileSync(DOCS, 'utf8'), summaryOf(rows))
  writeFileSync(RESULTS, resultsPage(rows, origin))
  writeFileSync(DOCS, docs)
  say('\nWritten: packages/faults/RESULTS.md, and its summary in docs/faults.md.')
}

function all(): Case[] {
  return FAULTS.flatMap((fault) =>
    FRAMEWORKS.flatMap((framework) => POLICIES.map((policy) => ({ fault, framework, policy }))),
  )
}

/** Every fault once. Frameworks and policies take turns, so that each meets each. */
function inTurn(): Case[] {
  return FAULTS.map((fault, i) => ({
    fault,
    framework: FRAMEWORKS[i % FRAMEWORKS.length] as Framework,
    policy: POLICIES[Math.floor(i / FRAMEWORKS.length) % POLICIES.length] as Policy,
  }))
}

function isWanted({ fault, framework, policy }: Case): boolean {
  return (
    fault.name.includes(options.fault) &&
    framework.startsWith(options.framework) &&
    policy.startsWith(options.policy)
  )
}
