// npm run bump: gives all published packages the version that the entries in .changeset ask for, and moves these to CHANGELOG.md.
//
// `changeset version` is not for packages below 1.0 that have one version: it takes a minor change of core for a major one of those that
// have core as a peer, and so of all.
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { KINDS, pendingChanges, withSection } from './changelog.mjs'
import { publishedFolders, root } from './workspace.mjs'

/** The workspace. Tests give a copy. */
const folder = process.argv[2] ?? root
const changes = pendingChanges(folder)
if (changes.length === 0) {
  process.stderr.write('Nothing to release: .changeset has no entries. Add one with npx changeset.\n')
  process.exit(1)
}
const largest = KINDS.find((kind) => changes.some((change) => change.kind === kind))
const manifests = publishedFolders.map((name) => join(folder, name, 'package.json'))
const version = next(JSON.parse(readFileSync(manifests[0], 'utf8')).version)

for (const file of manifests)
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^( {2}"version": )".*"/m, `$1"${version}"`))
const ofMetrics = join(folder, 'packages/metrics/src/options.ts')
const versioned = readFileSync(ofMetrics, 'utf8').replace(/^(export const VERSION = ).*$/m, `$1'${version}'`)
writeFileSync(ofMetrics, versioned)
const changelog = join(folder, 'CHANGELOG.md')
writeFileSync(changelog, withSection(readFileSync(changelog, 'utf8'), version, changes))
for (const { file } of changes) rmSync(file)
process.stdout.write(`${version}\n`)

function next(last) {
  const numbers = last.split('.').map(Number)
  const at = KINDS.indexOf(largest)
  return numbers.map((number, index) => (index < at ? number : index === at ? number + 1 : 0)).join('.')
}
