// npm test: sets everything up, checks types and style, and runs the tests on a real Redis. Arguments go to jest; with any,
// only the tests run. npm run test:deep runs what takes long. --record writes down how long each file took. Files that failed
// while the machine stood still, or while the Redis of the run was gone, run again. With TOLLGATE_ENDS_AT (seconds since 1970),
// what still runs then is ended and named. The last lines name what failed, and say `N passed, N failed`.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { failuresOf } from './failures.mjs'
import { watchStalls } from './stalls.mjs'
import { recordDurations } from './test-durations.mjs'
import { build, exec, install, step, stopChildren } from './workspace.mjs'

const given = process.argv.slice(2)
const isRecording = given.includes('--record')
const isDeep = given.includes('--deep')
const args = given.filter((one) => one !== '--record' && one !== '--deep')
if (isDeep) process.env.TOLLGATE_DEEP = '1'
const quiet = { quiet: true }
/** How often files are run again that failed while the machine stood still. */
const MOST_REPEATS = 2

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
const stalls = watchStalls()
const endsAtMs = Number(process.env.TOLLGATE_ENDS_AT ?? Infinity) * 1000
/** When the Redis of the run ended though no test wanted it, and how. */
const redisEnds = []
await jest()

async function jest() {
  // Tests of every run wait most of the time, deep ones compute.
  const workers = `--maxWorkers=${isDeep ? 3 : 5}`
  let { code, files } = await play([workers, ...args], isRecording)
  for (let left = MOST_REPEATS; left > 0 && Date.now() < endsAtMs; left -= 1) {
    const again = files.filter((file) => file.isFailed && disturbanceOf(file) !== '')
    if (again.length === 0) break
    process.stdout.write('These files failed while something else was wrong, so they run again:\n')
    for (const file of again) process.stdout.write(`- ${file.path} (${disturbanceOf(file)})\n`)
    const others = files.filter((file) => !again.includes(file))
    const repeated = await play([workers, '--runTestsByPath', ...again.map(({ name }) => name)])
    files = [...others, ...repeated.files]
    code = others.some(({ isFailed }) => isFailed) ? 1 : repeated.code
  }
  stalls.end()
  files.push(...crashesOf(redisEnds))
  if (redisEnds.some(isCrash)) code = 1
  for (const name of files.flatMap(({ names }) => names)) process.stdout.write(`failed: ${name}\n`)
  const [passed, failed] = [sumOf(files, 'passed'), sumOf(files, 'failed')]
  finish(passed, code === 0 ? failed : Math.max(failed, 1))
}

/** What may have made a file fail that has nothing to do with it; '' if nothing. */
function disturbanceOf({ startTime, endTime }) {
  const seconds = stalls.during(startTime, endTime)
  if (seconds > 0) return `the machine stood still for ${seconds.toFixed(1)} s`
  const isMet = redisEnds.some(({ from, to }) => from < endTime && to > startTime)
  return isMet ? 'the Redis of the run was gone' : ''
}

/** Redis crashes by what it is asked, and is killed by others. */
function isCrash({ how }) {
  return how !== 'SIGKILL'
}

function crashesOf(ends) {
  return ends.filter(isCrash).map(({ how }) => failedFile(`the Redis of the run ended by ${how}`))
}

/** Runs jest, and reads what became of each file. */
async function play(jestArgs, isRecorded = false) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  const results = join(folder, 'results.json')
  const ends = join(folder, 'redis-ends')
  const alarm = endsAtMs < Infinity && setTimeout(() => stopChildren('SIGTERM'), endsAtMs - Date.now())
  const { code } = await exec(['jest', '--json', `--outputFile=${results}`, ...jestArgs], {
    // The results are read from a file, so jest's own output can go to standard error.
    extraEnv: { FORCE_COLOR: process.stdout.isTTY ? '1' : '0', TOLLGATE_REDIS_ENDS: ends },
  })
  clearTimeout(alarm)
  const files = read(results)
  redisEnds.push(...readEnds(ends))
  // A repeated run has only some of the files.
  if (isRecorded && code === 0) recordDurations(results)
  rmSync(folder, { recursive: true, force: true })
  return { code, files }
}

function read(results) {
  try {
    return JSON.parse(readFileSync(results, 'utf8')).testResults.map(readFile)
  } catch {
    return [failedFile('jest itself')]
  }
}

/** What failed besides the files. */
function failedFile(name) {
  return { passed: 0, failed: 1, names: [name], isFailed: true, startTime: 0, endTime: 0 }
}

function readEnds(file) {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

function readFile({ name, status, message, startTime, endTime, assertionResults }) {
  const counts = (wanted) => assertionResults.filter((one) => one.status === wanted).length
  const isFailed = status === 'failed'
  return {
    ...{ name, path: relative('packages', name), startTime, endTime, isFailed, passed: counts('passed') },
    failed: isFailed ? Math.max(counts('failed'), 1) : 0,
    names: isFailed ? failuresOf({ name, message, assertionResults }) : [],
  }
}

function sumOf(files, count) {
  return files.reduce((sum, file) => sum + file[count], 0)
}

function finish(passed, failed) {
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed === 0 && passed > 0 ? 0 : 1)
}
