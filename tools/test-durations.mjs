// How long each test file takes, in seconds. Recorded by `npm test -- --record` and `npm run test:deep -- --record` on a quiet
// machine, and committed: the files are run in this order.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { root } from './workspace.mjs'

/** The two runs try different files, and the same files for different times. */
const recordFile = () =>
  join(root, 'tools', process.env.TOLLGATE_DEEP === '1' ? 'test-durations.deep.json' : 'test-durations.json')

const nameOf = (path) => relative(root, path).split(sep).join('/')

/** Gives the recorded seconds of a test file by its path; undefined if it is not recorded yet. */
export function recordedDurations() {
  const file = recordFile()
  const seconds = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
  return (path) => seconds[nameOf(path)]
}

/** @param results the file that jest wrote its results to */
export function recordDurations(results) {
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'))
  const seconds = testResults.map(({ name, startTime, endTime }) => [
    nameOf(name),
    // Below a second the order does not matter, and each record would differ.
    Math.round((endTime - startTime) / 1000),
  ])
  const ordered = seconds.toSorted(([a, first], [b, second]) => second - first || (a < b ? -1 : 1))
  writeFileSync(recordFile(), `${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`)
}
