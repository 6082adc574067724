// npm run in-flight: four processes run requests of several subjects whose plans limit how many run at a time.
import { parseArgs } from 'node:util'
import { runCase, type Case, type Result } from './run.ts'
import { TROUBLES } from './troubles.ts'

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    /** As part of npm test. */
    short: { type: 'boolean', default: false },
    /** Only the trouble with this name, and not all that have it in theirs. */
    exact: { type: 'boolean', default: false },
    trouble: { type: 'string', default: '' },
    policy: { type: 'string', default: '' },
    /** How long processes stand still, in ms. */
    stop: { type: 'string', default: '30000' },
    /** How long the longest requests run, in ms. */
    longest: { type: 'string', default: '20000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})

const LEAST_SECONDS = 2
const HEAD = [
  ...[
    'what happens',
    'policy',
    'runs',
    'units used',
    'most, of the slots',
    'settled after, ms',
    'slots of the dead back, ms',
  ],
  ...[
    'let in without Redis',
    'reported again',
    'longest decision, ms',
    'all free after, ms',
    'keys gone after, ms',
  ],
]

const say = (text: string): void => void process.stdout.write(`${text}\n`)
const seconds = Number(options.seconds)
if (!(seconds >= LEAST_SECONDS)) throw new Error(`--seconds NUMBER, at least ${LEAST_SECONDS}`)

const cases = casesOf()
if (cases.length === 0) throw new Error('No such trouble or policy.')
say(`seed ${options.seed}\n\n| ${HEAD.join(' | ')} |\n|${' --- |'.repeat(HEAD.length)}`)
const wrong: string[] = []
for (const each of cases) {
  const result = await runCase(each)
  wrong.push(...result.violations.map((what) => `${each.trouble}, ${each.policy}: ${what}`))
  say(`| ${lineOf(result).join(' | ')} |`)
}
say(wrong.length === 0 ? '\nno violations' : `\nWRONG:\n- ${wrong.join('\n- ')}`)
process.exitCode = wrong.length === 0 ? 0 : 1

/** The failure policy matters only where Redis does not answer. */
function casesOf(): Case[] {
  const more = {
    seconds,
    stopMs: Number(options.stop),
    longestMs: Number(options.longest),
    seed: Number(options.seed),
    isShort: options.short,
  }
  return Object.entries(TROUBLES)
    .filter(([name]) => (options.exact ? name === options.trouble : name.includes(options.trouble)))
    .flatMap(([trouble, { isOutage }]) =>
      (isOutage ? (['closed', 'local'] as const) : (['closed'] as const))
        .filter((policy) => policy.includes(options.policy))
        .map((policy) => ({ ...more, trouble, policy })),
    )
}

function lineOf(result: Result): string[] {
  const { trouble, policy, runs, most, settled, back, byPolicy, declaredAgain, longestDecision } = result
  const ms = (us: number): string => (us / 1000).toFixed(0)
  return [
    ...[
      trouble,
      policy,
      String(runs),
      String(result.used),
      `${(100 * most).toFixed(0)} %`,
      settled > 0 ? ms(settled) : '-',
    ],
    ...[
      back === undefined ? '-' : ms(back),
      String(byPolicy),
      String(declaredAgain),
      longestDecision.toFixed(0),
    ],
    ...[result.freeAfter.toFixed(0), result.goneAfter.toFixed(0)],
  ]
}
