// The machine and versions of a run. Figures of different machines must not be compared.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg } from 'node:os'
import { pathToFileURL } from 'node:url'
import { serverVersion } from './redis.mjs'

const PACKAGES = [
  '@tollgate/core',
  'ioredis',
  'rate-limiter-flexible',
  'express-rate-limit',
  'rate-limit-redis',
]
const require = createRequire(import.meta.url)

export async function describeMachine(monitor) {
  return {
    cores: cpus().length,
    cpu: cpus()[0].model.trim(),
    load: loadavg()[0],
    node: process.version,
    redis: await serverVersion(monitor),
    packages: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
  }
}

/** Reads package.json from the package's folder, since not every package exports it. */
function versionOf(name) {
  let folder = new URL('.', pathToFileURL(require.resolve(name)))
  for (;;) {
    const manifest = readManifest(new URL('package.json', folder))
    if (manifest?.name === name) return manifest.version
    const above = new URL('..', folder)
    if (above.href === folder.href) return 'unknown'
    folder = above
  }
}

function readManifest(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}
