// The machine and versions of a run. Figures of different machines must not be compared.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg, release, totalmem } from 'node:os'
import { pathToFileURL } from 'node:url'
import { Redis } from 'ioredis'
import { serverVersion, startRedis } from './redis.mjs'

const PACKAGES = [
  '@tollgate/core',
  ...['ioredis', 'redis', 'express', 'fastify', 'koa'],
  ...[
    'express-rate-limit',
    'rate-limit-redis',
    '@fastify/rate-limit',
    'koa-ratelimit',
    'rate-limiter-flexible',
    'memcached',
    'memjs',
  ],
]
const require = createRequire(import.meta.url)

/** Asks a Redis of its own for the version. */
export async function describe() {
  const server = await startRedis()
  const monitor = new Redis(server.url)
  const machine = await describeMachine(monitor)
  monitor.disconnect()
  server.stop()
  return machine
}

async function describeMachine(monitor) {
  return {
    cores: cpus().length,
    cpu: cpus()[0].model.trim(),
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${process.platform} ${release().split('-')[0]}`,
    load: loadavg()[0],
    node: process.version,
    redis: await serverVersion(monitor),
    packages: Object.fromEntries(PACKAGES.map((name) => [name, versionOf(name)])),
  }
}

function versionOf(name) {
  return folderOf(name)?.manifest.version ?? 'unknown'
}

/**
 * The folder of a package and its package.json, which not every package exports.
 *
 * @returns {{ folder: URL, manifest: object } | undefined}
 */
export function folderOf(name) {
  let folder = new URL('.', pathToFileURL(require.resolve(name)))
  for (;;) {
    const manifest = readManifest(new URL('package.json', folder))
    if (manifest?.name === name) return { folder, manifest }
    const above = new URL('..', folder)
    if (above.href === folder.href) return undefined
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
