// The scripts of release.yml that write to GitHub, on a copy of the repository, with a `gh` that only notes how it was called.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../docs-pages.ts'

const { jobs } = parse(readFileSync(join(root, '.github/workflows/release.yml'), 'utf8'))
const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))

let folder: string
let clone: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-workflow-'))
  clone = join(folder, 'clone')
  const manifests = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/package.json`)
  const files = ['package.json', 'pnpm-lock.yaml', 'CHANGELOG.md', 'tools', 'packages/metrics/src/options.ts']
  for (const file of [...files, '.changeset/README.md', '.changeset/config.json', ...manifests]) {
    mkdirSync(dirname(join(clone, file)), { recursive: true })
    cpSync(join(root, file), join(clone, file), { recursive: true })
  }
  writeFileSync(
    join(clone, '.changeset/a.md'),
    `---\n'@tollgate/core': patch\n---\n\nCounts [cats](docs/cats.md).\n`,
  )
  git('init', '-q', '--bare', '-b', 'main', join(folder, 'origin.git'))
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['remote', 'add', 'origin', join(folder, 'origin.git')],
    ['add', '-A'],
  ])
    git('-C', clone, ...args)
  git('-C', clone, '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'All')
  git('-C', clone, 'push', '-q', 'origin', 'main')
  mkdirSync(join(folder, 'bin'))
  // It says that so many pull requests are open, and notes each argument on a line.
  const gh = `#!/bin/sh\n[ "$2" = list ] && cat '${folder}/open' && exit\nprintf '%s\\n' "$@" > '${folder}/called'\n`
  writeFileSync(join(folder, 'bin/gh'), gh)
  chmodSync(join(folder, 'bin/gh'), 0o755)
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const git = (...args: string[]): string => execFileSync('git', args, { encoding: 'utf8', stdio: 'pipe' })

/** Runs the last script of a job as GitHub does. Returns the arguments of its last call of gh. */
function run(job: string, env: Readonly<Record<string, string>> = {}): string[] {
  const script = jobs[job].steps.at(-1).run
  const PATH = `${join(folder, 'bin')}${delimiter}${process.env['PATH']}`
  execFileSync('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', script], {
    cwd: clone,
    env: { ...process.env, PATH, RUNNER_TEMP: folder, ...env },
    stdio: 'pipe',
  })
  return readFileSync(join(folder, 'called'), 'utf8').trimEnd().split('\n')
}

test('version: pushes the next version, and opens its pull request once', () => {
  const next = version.replace(/\d+$/, (patch: string) => String(Number(patch) + 1))
  const text = ['--title', `Release ${next}`, '--body-file', `${folder}/notes.md`]
  writeFileSync(join(folder, 'open'), '0\n')
  expect(run('version')).toEqual(['pr', 'create', '--base', 'main', '--head', 'release/next', ...text])
  const origin = join(folder, 'origin.git')
  expect(git('-C', origin, 'log', '--format=%s', 'main..release/next')).toBe(`Release ${next}\n`)
  expect(JSON.parse(git('-C', origin, 'show', 'release/next:packages/koa/package.json'))).toMatchObject({
    version: next,
  })
  expect(git('-C', origin, 'ls-tree', '--name-only', 'release/next', '.changeset/')).toBe(
    '.changeset/README.md\n.changeset/config.json\n',
  )
  expect(readFileSync(join(folder, 'notes.md'), 'utf8')).toMatch(
    /^### Patch Changes\n\n- core: Counts \[cats\]\(https:/,
  )

  // The next push to main.
  git('-C', clone, 'switch', '-q', 'main')
  git('-C', clone, 'branch', '-D', 'release/next')
  writeFileSync(join(folder, 'open'), '1\n')
  expect(run('version')).toEqual(['pr', 'edit', 'release/next', ...text])
  expect(git('-C', origin, 'log', '--format=%s', 'main..release/next')).toBe(`Release ${next}\n`)
})

test('announce: makes a release of all that was packed', () => {
  mkdirSync(join(clone, 'packed'))
  for (const file of ['a.tgz', 'a.cdx.json']) writeFileSync(join(clone, 'packed', file), '')
  expect(run('announce', { VERSION: '1.2.3', GITHUB_SHA: 'abc' })).toEqual([
    ...['release', 'create', 'v1.2.3', 'packed/a.cdx.json', 'packed/a.tgz', '--title', '1.2.3'],
    ...['--notes-file', `${folder}/notes.md`, '--target', 'abc'],
  ])
  expect(existsSync(join(folder, 'notes.md'))).toBe(true)
})
