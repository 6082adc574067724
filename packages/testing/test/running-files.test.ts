// What is said of a run of the tests that is ended from outside, in a process that really is.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { root } from './docs-pages.ts'

const tool = pathToFileURL(join(root, 'tools/running-files.mjs')).href

/** Three files began: the first passed, the second failed, and the third still runs. */
const program = `
  import RunningFiles from '${tool}'
  const reporter = new RunningFiles()
  for (const path of ['packages/a', 'packages/b', 'packages/c']) reporter.onTestFileStart({ path })
  const failed = { status: 'failed', fullName: 'counts', failureMessages: ['1 is not 2'] }
  const passed = { status: 'passed', fullName: 'adds', failureMessages: [] }
  reporter.onTestFileResult({ path: 'packages/a' }, { testResults: [passed] })
  reporter.onTestFileResult({ path: 'packages/b' }, { testResults: [passed, failed], failureMessage: '...' })
  setInterval(() => {}, 1000)
  console.log('begun')
`

let child: ChildProcess | undefined
afterEach(() => child?.kill('SIGKILL'))

test('names what has failed, and the files that still run', async () => {
  const running = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: root,
  })
  child = running
  const ended = once(running, 'exit')
  const lines: string[] = []
  for await (const line of createInterface({ input: running.stdout })) {
    lines.push(line)
    if (line === 'begun') running.kill('SIGTERM')
  }
  expect(lines).toEqual([
    'begun',
    'failed: b: counts: 1 is not 2',
    expect.stringMatching(/^failed: c: still ran after \d+ s$/),
  ])
  expect(await ended).toEqual([143, null])
})
