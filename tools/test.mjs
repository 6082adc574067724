// npm test: sets everything up, checks types and style, and runs the tests on a real Redis. Arguments go to jest; with any,
// only the tests run. npm run test:deep runs what takes long. --record writes down how long each file took. The last line is
// `N passed, N failed`.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { recordDurations } from './test-durations.mjs'
import { build, exec, install, step } from './workspace.mjs'

const given = process.argv.slice(2)
const isRecording = given.includes('--record')
const isDeep = given.includes('--deep')
const args = given.filter((one) => one !== '--record' && one !== '--deep')
if (isDeep) process.env.TOLLGATE_DEEP = '1'
const quiet = { quiet: true }

const steps = [
  ['install', install],
  ['build', build],
  [
    'types and lint',
    () =>
      exec(
        ['oxlint', '-c', 'oxlint.config.mjs', '--type-aware', '--type-check', '--deny-warnings', '.'],
        quiet,
      ),
  ],
  ['format', () => exec(['oxfmt', '--check', '.'], quiet)],
]

for (const [name, work] of isDeep || args.length > 0 ? steps.slice(0, 2) : steps) {
  if ((await step(name, work)) !== 0) finish(0, 1)
}
await jest()

async function jest() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const file = join(folder, 'results.json')
  // Tests of every run wait most of the time, deep ones compute.
  const workers = isDeep ? 3 : 5
  const { code } = await exec(
    ['jest', `--maxWorkers=${workers}`, '--json', `--outputFile=${file}`, ...args],
    {
      // The results are read from a file, so jest's own output can go to standard error.
      extraEnv: { FORCE_COLOR: process.stdout.isTTY ? '1' : '0' },
    },
  )
  const { passed, failed } = read(file)
  if (isRecording && code === 0) recordDurations(file)
  rmSync(folder, { recursive: true, force: true })
  finish(passed, code === 0 ? failed : Math.max(failed, 1))
}

function read(file) {
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(file, 'utf8'))
    return { passed: numPassedTests, failed: numFailedTests || numFailedTestSuites }
  } catch {
    return { passed: 0, failed: 1 }
  }
}

function finish(passed, failed) {
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 && passed > 0 ? 0 : 1)
}
