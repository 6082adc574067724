import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../docs-pages.ts'
import { PUBLISHED } from '../published.ts'

interface Manifest {
  readonly name: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

/** Licenses that let a closed product use the packages and ask only to be named. */
const ALLOWED = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'Unlicense',
]

const manifestIn = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))

/** The folder of a package, as Node finds it from another one's. */
function folderOf(name: string, from: string): string | undefined {
  for (let folder = from; folder !== dirname(folder); folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name)
    if (existsSync(found)) return realpathSync(found)
  }
  return undefined
}

/** The licenses of everything that a user installs with a package: its dependencies and peers, and all that these depend on. */
function licensesWith(name: string): Map<string, string | undefined> {
  const found = new Map<string, string | undefined>()
  const visit = (folder: string, names: readonly string[]): void => {
    for (const one of names) {
      const next = folderOf(one, folder)
      if (next === undefined || found.has(next)) continue
      const { license, dependencies = {} } = manifestIn(next)
      found.set(next, license)
      visit(next, Object.keys(dependencies))
    }
  }
  const folder = join(root, 'packages', name)
  const { dependencies = {}, peerDependencies = {} } = manifestIn(folder)
  visit(folder, Object.keys({ ...dependencies, ...peerDependencies }))
  return found
}

test.each(PUBLISHED)('%s: what is installed with it has a license that is allowed', (name) => {
  const licenses = licensesWith(name)
  const { dependencies = {}, peerDependencies = {} } = manifestIn(join(root, 'packages', name))
  expect(licenses.size).toBeGreaterThanOrEqual(Object.keys({ ...dependencies, ...peerDependencies }).length)
  expect([...licenses].filter(([, license]) => !ALLOWED.includes(license ?? 'none'))).toEqual([])
})

test('core has no dependency', () => {
  const { dependencies, peerDependencies } = manifestIn(join(root, 'packages/core'))
  expect({ dependencies, peerDependencies }).toEqual({})
})
