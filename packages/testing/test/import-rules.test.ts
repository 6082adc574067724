import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(__dirname, '../../..')
const source = join(root, 'packages/core/src')

interface Row {
  readonly folder: string
  readonly folders: readonly string[]
  readonly modules: readonly string[]
}

/** The import table of ARCHITECTURE.md, from the ground up. */
const table = rowsOf(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'))

function rowsOf(page: string): Row[] {
  const [, section = ''] = page.split('## Who may import whom')
  return [...section.matchAll(/^\| `([a-z-]+)\/` \|([^|]*)\|([^|]*)\|/gm)].map(
    ([, folder, folders, modules]) => ({
      folder: folder as string,
      folders: namesIn(folders as string),
      modules: namesIn(modules as string),
    }),
  )
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([^`]+?)\/?`/g)].map(([, name]) => name as string)
}

type Import = readonly [file: string, module: string]

/** Every import between folders, of Node's modules and of packages, from a folder and from each folder inside it. */
function imports(): { readonly allowed: Import[]; readonly forbidden: Import[] } {
  const allowed: Import[] = []
  const forbidden: Import[] = []
  for (const { folder, folders, modules } of table) {
    const others = table.map((row) => row.folder).filter((name) => name !== folder)
    for (const [file, up] of placesIn(folder)) {
      allowed.push([file, './own.js'], ...modules.map((name): Import => [file, name]))
      for (const other of others) {
        const list = folders.includes(other) ? allowed : forbidden
        list.push([file, `${up}${other}/a.js`])
      }
      if (folder !== 'stores') forbidden.push([file, `${up}stores/redis/script-store.js`])
      for (const name of ['node:fs', 'ioredis', 'express', '@tollgate/core', `${up}index.js`])
        forbidden.push([file, name])
    }
  }
  return { allowed, forbidden }
}

/** A file in each folder in it, however deep, and the way from there to the folders of core. */
function placesIn(folder: string): (readonly [file: string, up: string])[] {
  const inside = readdirSync(join(source, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ parentPath, name }) => relative(source, join(parentPath, name)))
  return [folder, ...inside].map((path) => [
    `core/src/${path}/probe.ts`,
    '../'.repeat(path.split('/').length),
  ])
}

const FORBIDDEN: readonly Import[] = [
  ['core/src/limiter/a/b/c/d.ts', 'ioredis'],
  ['express/src/a.ts', '@tollgate/core/src/limiter.js'],
  ['express/src/b.ts', '../../core/src/limiter.js'],
  ['express/src/c.ts', 'fastify'],
  ['express/src/d.ts', '@tollgate/core/store'],
  ['fastify/src/a.ts', 'express'],
  ['fastify/src/b.ts', '../../core/src/limiter.js'],
  ['koa/src/a.ts', 'node:fs'],
  ['koa/src/b.ts', '@tollgate/core/src/limiter.js'],
  ['metrics/src/a.ts', '@opentelemetry/sdk-metrics'],
  ['metrics/src/b.ts', '../../core/src/limiter.js'],
  ['metrics/src/c.ts', 'express'],
  ['store-contract/src/a.ts', '@tollgate/core'],
  ['store-contract/src/b.ts', '../../core/src/stores/contract.js'],
  ['store-contract/src/c.ts', 'node:test'],
  ['admin/src/a.ts', 'express'],
  ['admin/src/reports/b.ts', '../../../core/src/limiter/limiter.js'],
  ['admin/src/c.ts', 'ioredis'],
  ['cli/src/a.ts', '@tollgate/express'],
  ['cli/src/commands/b.ts', 'redis'],
  ['cli/src/commands/c.ts', '../../../core/src/limiter/limiter.js'],
  ['memcached/src/a.ts', 'memjs'],
  ['memcached/src/b.ts', '@tollgate/core'],
  ['memcached/src/c.ts', '../../core/src/limiter.js'],
  ['stores/src/a.ts', 'express-rate-limit'],
  ['stores/src/b.ts', '@tollgate/core/adapter'],
  ['stores/src/c.ts', '../../core/src/limiter.js'],
  ['core/src/index.ts', 'node:fs'],
  ['core/src/adapter.ts', 'express'],
  ['core/src/testing/e.ts', 'vitest'],
  ['core/src/testing/f.ts', 'node:test'],
]

const ALLOWED: readonly Import[] = [
  ['express/src/f.ts', '@tollgate/core'],
  ['express/src/f.ts', '@tollgate/core/adapter'],
  ['express/src/f.ts', 'express'],
  ['fastify/src/f.ts', 'fastify-plugin'],
  ['fastify/src/f.ts', './adapter.js'],
  ['koa/src/f.ts', 'koa'],
  ['metrics/src/f.ts', '@tollgate/core'],
  ['metrics/src/f.ts', '@tollgate/core/adapter'],
  ['metrics/src/f.ts', '@opentelemetry/api'],
  ['metrics/src/f.ts', 'prom-client'],
  ['metrics/src/f.ts', 'node:diagnostics_channel'],
  ['metrics/src/f.ts', './ledger.js'],
  ['store-contract/src/f.ts', '@tollgate/core/store'],
  ['store-contract/src/f.ts', 'node:assert/strict'],
  ['store-contract/src/f.ts', 'node:timers/promises'],
  ['store-contract/src/f.ts', 'node:util'],
  ['store-contract/src/f.ts', './bench.js'],
  ['admin/src/f.ts', '@tollgate/core/adapter'],
  ['admin/src/fastify.ts', 'fastify'],
  ['admin/src/reports/f.ts', '../live.js'],
  ['cli/src/f.ts', '@tollgate/admin'],
  ['cli/src/f.ts', 'commander'],
  ['cli/src/commands/f.ts', '../output/table.js'],
  ['cli/src/commands/doctor/f.ts', '../../output/table.js'],
  ['memcached/src/clients/f.ts', '@tollgate/core/store'],
  ['memcached/src/clients/f.ts', '../errors.js'],
  ['memcached/src/clients/f.ts', 'node:net'],
  ['stores/src/f.ts', '@tollgate/core'],
  ['stores/src/f.ts', '@tollgate/core/store'],
  ['stores/src/f.ts', './counter.js'],
  ['core/src/store.ts', './stores/contract.js'],
  ['core/src/limiter/f.ts', '../features/leases/lease-reporter.js'],
  ['core/src/testing/g.ts', '../limiter/create-limiter.js'],
  ['core/test/laws/f.ts', '../../src/stores/memory/memory-store.js'],
]

const named = (all: readonly Import[]): string[] =>
  all.map(([file, module]) => `${file} imports ${module}`).sort((a, b) => a.localeCompare(b))

/** Those of the imports that the repository's linter refuses, tried in a folder that has only them. */
function refused(all: readonly Import[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-imports-'))
  try {
    for (const name of ['oxlint.config.mjs', 'ARCHITECTURE.md'])
      copyFileSync(join(root, name), join(folder, name))
    const files = new Map<string, string>()
    for (const [file, module] of all) files.set(file, `${files.get(file) ?? ''}import '${module}'\n`)
    for (const [file, text] of files) write(join(folder, 'packages', file), text)
    const lint = join(root, 'node_modules/.bin/oxlint')
    const { stdout } = spawnSync(lint, ['-c', 'oxlint.config.mjs', '--format', 'unix', '.'], {
      cwd: folder,
      encoding: 'utf8',
    })
    return [...stdout.matchAll(/^packages\/([^:]+):.*?'(.+)' import is restricted/gm)]
      .map(([, file, module]) => `${file} imports ${module}`)
      .sort((a, b) => a.localeCompare(b))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

describe('who may import whom', () => {
  test('every folder of core has a row in ARCHITECTURE.md, and imports only from rows above its own', () => {
    const folders = readdirSync(source, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
    expect(table.map(({ folder }) => folder).toSorted()).toEqual(folders.toSorted())
    table.forEach(({ folders: below }, floor) => {
      for (const name of below) expect(table.findIndex((row) => row.folder === name)).toBeLessThan(floor)
    })
  })

  test('the linter refuses every import that the table does not allow', () => {
    const { forbidden } = imports()
    expect(forbidden.length).toBeGreaterThan(100)
    expect(refused([...forbidden, ...FORBIDDEN])).toEqual(named([...forbidden, ...FORBIDDEN]))
  })

  test('the linter refuses no import that the table allows', () => {
    expect(refused([...imports().allowed, ...ALLOWED])).toEqual([])
  })
})
