// npm run faults: runs applications under load through every fault of Redis. --short runs one framework for each fault
// and checks no times.
import { parseArgs } from 'node:util'
import { violationsOf } from './checks.ts'
import { runOnCluster } from './cluster/cluster.ts'
import { FAULTS, type Fault } from './faults.ts'
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
import { head, row } from './table.ts'

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
  // Minutes with --soak, seconds with --cluster.
  allowPositionals: true,
})

const say = (text: string): void => void process.stdout.write(`${text}\n`)

const checks = options.strict ? EVERY_CHECK : options.short ? UNTIMED_CHECKS : CHECKS
/** The disturbance alone takes a few seconds. */
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
  say(head())
  for (const each of cases) {
    const run = await runThrough(each.fault, each.framework, each.policy, options.short ? SHORT : FULL)
    const violations = violationsOf(run, checks)
    say(row(run, violations))
    wrong += violations.length
  }
  say(`\n${cases.length} runs, ${wrong} violations`)
  return wrong === 0 ? 0 : 1
}

function all(): Case[] {
  return FAULTS.flatMap((fault) =>
    FRAMEWORKS.flatMap((framework) => POLICIES.map((policy) => ({ fault, framework, policy }))),
  )
}

/** Every fault once. Frameworks and policies rotate, so that each framework runs with each policy at least once. */
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
