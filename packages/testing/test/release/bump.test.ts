import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from '../docs-pages.ts'
import { PUBLISHED } from '../published.ts'

const MANIFESTS = ['packages', 'examples'].flatMap((parent) =>
  readdirSync(join(root, parent))
    .map((name) => `${parent}/${name}/package.json`)
    .filter((file) => existsSync(join(root, file))),
)

let folder: string

/** What the tool reads of the workspace, in a repository of its own, with other entries. */
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-bump-'))
  for (const file of [
    ...[
      'package.json',
      'pnpm-workspace.yaml',
      'CHANGELOG.md',
      '.changeset/config.json',
      '.changeset/README.md',
      'packages/metrics/src/options.ts',
    ],
    ...MANIFESTS,
  ]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(root, file), join(folder, file))
  }
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const bump = (): string =>
  execFileSync('node', [join(root, 'tools/bump.mjs'), folder], { encoding: 'utf8', stdio: 'pipe' })
const announce = (name: string, head: string, text: string): void =>
  writeFileSync(join(folder, '.changeset', name), `---\n${head}\n---\n\n${text}\n`)
const manifestOf = (name: string, from = folder): Record<string, unknown> =>
  JSON.parse(readFileSync(join(from, 'packages', name, 'package.json'), 'utf8'))

test.each([
  ['patch', (major: number, minor: number, patch: number) => [major, minor, patch + 1]],
  ['major', (major: number) => [major + 1, 0, 0]],
])('the largest kind of change gives the version: %s', (kind, next) => {
  announce('a.md', "'@tollgate/metrics': patch", 'One.')
  announce('b.md', `'@tollgate/koa': ${kind}`, 'Another.')
  const [major = 0, minor = 0, patch = 0] = String(manifestOf('core')['version']).split('.').map(Number)
  expect(bump()).toBe(`${next(major, minor, patch).join('.')}\n`)
})

test('a change of one package gives all of them the next version, and a section of the changelog', () => {
  const before = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')
  announce(
    'quick-cats-run.md',
    '"@tollgate/core": minor\n"@tollgate/koa": patch',
    'Limits count cats.\n\nDogs, too.',
  )
  announce('slow-dogs-sit.md', '"@tollgate/stores": patch', 'No longer counts birds.')
  const [major, minor] = String(manifestOf('core')['version']).split('.').map(Number)
  const next = `${major}.${Number(minor) + 1}.0`

  expect(bump()).toBe(`${next}\n`)
  for (const name of PUBLISHED) {
    // Ranges of the workspace are written as numbers by packing.
    expect(manifestOf(name)).toEqual({ ...manifestOf(name, root), version: next })
  }
  expect(manifestOf('testing')).toEqual(manifestOf('testing', root))
  expect(readdirSync(join(folder, '.changeset')).sort()).toEqual(['README.md', 'config.json'])
  const at = before.search(/^## /m)
  expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toBe(`${before.slice(0, at)}## ${next}

### Minor Changes

- core, koa: Limits count cats.

  Dogs, too.

### Patch Changes

- stores: No longer counts birds.

${before.slice(at)}`)
})

test('without an entry nothing changes', () => {
  expect(bump).toThrow('.changeset has no entries')
  expect(manifestOf('core')).toEqual(manifestOf('core', root))
})

test.each([
  ['names a package that is not published', '"@other/core": minor', 'Text.'],
  ['has no text', '"@tollgate/core": minor', ''],
])('an entry that %s is refused', (_, head, text) => {
  announce('wrong.md', head, text)
  expect(bump).toThrow('.changeset/wrong.md: write it with npx changeset')
})

test('changesets reads the same entries', () => {
  const cli = createRequire(join(root, 'package.json')).resolve('@changesets/cli/bin.js')
  const commit = ['-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'a']
  for (const args of [['init', '-q', '-b', 'main'], ['add', '-A'], commit])
    execFileSync('git', args, { cwd: folder })
  announce('slow-dogs-sit.md', '"@tollgate/core": patch', 'No longer counts birds.')
  execFileSync('node', [cli, 'status', '--output=status.json'], { cwd: folder, stdio: 'pipe' })
  expect(JSON.parse(readFileSync(join(folder, 'status.json'), 'utf8')).changesets).toMatchObject([
    { releases: [{ name: '@tollgate/core', type: 'patch' }], summary: 'No longer counts birds.' },
  ])
})

test('the packages that have one version are those that are published', () => {
  const { fixed } = JSON.parse(readFileSync(join(root, '.changeset/config.json'), 'utf8'))
  expect(fixed).toEqual([PUBLISHED.map((name) => `@tollgate/${name}`)])
  expect(new Set(PUBLISHED.map((name) => manifestOf(name, root)['version'])).size).toBe(1)
})

test('the version that metrics report is bumped, too', () => {
  announce('a.md', "'@tollgate/metrics': minor", 'One.')
  const version = bump().trim()
  const source = readFileSync(join(folder, 'packages/metrics/src/options.ts'), 'utf8')
  expect(source).toContain(`export const VERSION = '${version}'\n`)
})

test('an entry may come from Windows, and an empty one says nothing', () => {
  const entry = '\uFEFF---\r\n"@tollgate/core": patch\r\n---\r\n\r\nOne.\r\u2028## Two.\r\n'
  writeFileSync(join(folder, '.changeset/a.md'), entry)
  writeFileSync(join(folder, '.changeset/empty.md'), '---\n---\n')
  bump()
  expect(readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')).toContain('- core: One.\n\n  ## Two.\n')
})

test('an entry for a package that is not published is refused', () => {
  announce('a.md', "'@tollgate/testing': minor", 'One.')
  expect(bump).toThrow('.changeset/a.md: @tollgate/testing is not published')
})
