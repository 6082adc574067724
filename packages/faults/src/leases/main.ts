// npm run leases: four processes with very different demand take from one tenant of an overloaded plan, with leases.
import { parseArgs } from 'node:util'
import { leasedPlans } from './plans.ts'
import { RATES, runCase, type Case, type Result } from './run.ts'
import { TROUBLES } from './troubles.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    /** In ms; of the main limit of each plan. */
    window: { type: 'string', default: '' },
    plan: { type: 'string', default: '' },
    trouble: { type: 'string', default: '' },
    /** Only the plan with this name, and not all that have it in theirs. */
    exact: { type: 'boolean', default: false },
    /** Without leases, too. */
    compare: { type: 'boolean', default: false },
  },
})

const LEAST_SECONDS = 2
/** Plans that go through every trouble; the others go through none. */
const TROUBLED = ['sliding-log', 'token-bucket']

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const seconds = Number(options.seconds)
if (!(seconds >= LEAST_SECONDS)) throw new Error(`--seconds NUMBER, at least ${LEAST_SECONDS}`)
const windowMs = Number(options.window || (seconds < 30 ? 1000 : 10_000))

const cases = casesOf()
if (cases.length === 0) throw new Error('No such plan or trouble.')
say(`| ${head().join(' | ')} |\n|${' --- |'.repeat(head().length)}`)
const results: Result[] = []
for (const each of cases) {
  const result = await runCase(each)
  results.push(result)
  say(`| ${lineOf(result).join(' | ')} |`)
}
const wrong = results.flatMap(({ plan, trouble, violations }) =>
  violations.map((what) => `${plan.name}, ${trouble}: ${what}`),
)
say(wrong.length === 0 ? '\nno violations' : `\nWRONG:\n- ${wrong.join('\n- ')}`)
process.exitCode = wrong.length === 0 ? 0 : 1

function casesOf(): Case[] {
  const leased = options.compare ? [true, false] : [true]
  return leasedPlans(windowMs).flatMap((plan) =>
    Object.keys(TROUBLES)
      .filter((trouble) => trouble === 'none' || TROUBLED.includes(plan.name))
      .filter((trouble) => trouble.includes(options.trouble) && isWanted(plan.name))
      .flatMap((trouble) => leased.map((isLeased) => ({ plan, trouble, seconds, isLeased }))),
  )
}

function isWanted(name: string): boolean {
  return options.exact ? name === options.plan : name.includes(options.plan)
}

function head(): string[] {
  return [
    ...['plan', 'what happens', 'leases', 'nearest to its bound', 'handed out', 'from leases', 'decisions'],
    ...['commands', 'for 1000', ...RATES.map((rate) => `let in of ${rate}/s`), 'longest without, ms'],
  ]
}

function lineOf(result: Result): string[] {
  const { plan, trouble, isLeased, nearest, handedOut, leased, decisions, commands, each, without } = result
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`
  return [
    ...[plan.name, trouble, isLeased ? 'yes' : 'no', percent(nearest), percent(handedOut), percent(leased)],
    ...[String(decisions), String(commands), ((1000 * commands) / decisions).toFixed(1)],
    ...each.map((count, i) => percent(count / ((RATES[i] ?? 1) * seconds))),
    without.map((us) => (us === undefined ? '-' : (us / 1000).toFixed(0))).join(', '),
  ]
}
