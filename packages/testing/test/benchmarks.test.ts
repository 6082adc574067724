// The benchmark page, its charts and the summary in the README are what the committed figures render. Nothing is
// measured here.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './docs-pages.ts'

interface Section {
  grids?: Record<string, Record<string, Record<string, number[]>>>
  error?: string
}

interface Run {
  sections: Record<string, Section>
}

const committed = join(root, 'docs/benchmarks/results.json')
const folder = mkdtempSync(join(tmpdir(), 'tollgate-figures-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Renders figures; without a change, the committed ones. */
function bench(args: readonly string[], change?: (run: Run) => void) {
  let file = committed
  if (change) {
    const run: Run = JSON.parse(readFileSync(committed, 'utf8'))
    change(run)
    file = join(folder, 'results.json')
    writeFileSync(file, JSON.stringify(run))
  }
  const program = join(root, 'packages/benchmarks/src/main.mjs')
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, '--from', file, ...args], {
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('page, charts and README are what the committed figures render', () => {
  expect(bench(['--check'])).toEqual({ status: 0, stdout: '', stderr: '' })
})

test('other figures would render other files, and the check names them', () => {
  const { status, stderr } = bench(['--check'], ({ sections }) => {
    const bucket = sections['speed-64']?.grids?.allowed?.['Tollgate: token bucket']
    if (!bucket?.perSecond) throw new Error('The committed run has no such figure')
    bucket.perSecond = bucket.perSecond.map((each) => 2 * each)
  })
  expect(status).toBe(1)
  const named = [...stderr.matchAll(/^(\S+) is not what the figures render/gm)].map(([, path]) => path)
  expect(named.sort()).toEqual([
    ...['README.md', 'docs/benchmarks.md', 'docs/benchmarks/results.json', 'docs/benchmarks/speed.svg'],
  ])
})

test('a section that failed says so beside the others, and one that is too noisy is not judged', () => {
  const { status, stdout, stderr } = bench([], ({ sections }) => {
    sections.growth = { error: 'Redis went away' }
    delete sections.bytes
    const server = sections.server?.grids?.server ?? {}
    for (const row of ['floor: read and write each key', 'floor, again'])
      server[row] = { us: [1, 1, 1, 1, 1] }
    // Half as much again: more than the 10 % that the reference may be off itself.
    server['floor, again'] = { us: [1, 1.5, 1.5, 1.5, 1.6] }
  })
  expect(status).toBe(1)
  expect(stderr).toContain('section growth failed: Redis went away')
  expect(stdout).toContain('This section failed: Redis went away')
  expect(stdout).toContain('floor: read and write each key against itself: 1.50. **Too noisy to judge**')
  const goals = stdout.split('## To reach')[1] ?? ''
  expect(goals.match(/Redis's time a decision.*too noisy to judge/g)).toHaveLength(4)
  expect(goals).not.toContain('bytes of Redis a subject')
})
