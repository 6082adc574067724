// node tools/release-state.mjs: prints what a release needs next, for the workflow: `todo=` version, publish or nothing; and why.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { newestSection, pendingChanges } from './changelog.mjs'
import { publishedFolders, root } from './workspace.mjs'

/** The packages that are published, core first, and the version that they all have. */
export function namesAndVersion() {
  const manifests = publishedFolders.map((folder) =>
    JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')),
  )
  const versions = new Set(manifests.map(({ version }) => version))
  if (versions.size > 1)
    throw new Error(`the packages do not all have the same version: ${[...versions].join(', ')}`)
  return { names: manifests.map(({ name }) => name), version: manifests[0].version }
}

/** Whether npm has this version. Throws if that cannot be known. */
export async function isPublished(name, version) {
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim()
  // Publishing takes seconds, so the registry may close the connection just as the next question is sent.
  const answer = await fetch(new URL(name.replace('/', '%2f'), registry), {
    headers: { connection: 'close' },
  })
  if (answer.status === 404) return false
  if (!answer.ok) throw new Error(`${registry} answered ${answer.status} for ${name}`)
  return version in (await answer.json()).versions
}

/** What a release needs next: `{ todo, why, version }`. */
export async function releaseState() {
  const { names, version } = namesAndVersion()
  const changes = pendingChanges(root)
  if (changes.length > 0)
    return { todo: 'version', why: `.changeset has ${changes.length} unreleased changes`, version }
  const { title } = newestSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))
  if (title !== version)
    return { todo: 'nothing', why: `CHANGELOG.md begins with "${title}", not with "${version}"`, version }
  for (const name of names)
    if (!(await isPublished(name, version)))
      return { todo: 'publish', why: `${name}@${version} is not on npm yet`, version }
  return { todo: 'nothing', why: `${version} is on npm`, version }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const [key, value] of Object.entries(await releaseState())) process.stdout.write(`${key}=${value}\n`)
}
