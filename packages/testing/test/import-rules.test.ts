import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const root = resolve(__dirname, '../../..')

const FORBIDDEN = [
  ['core/src/errors.ts', './limit.js'],
  ['core/src/errors.ts', 'node:util'],
  ['core/src/algorithms/a.ts', '../stores/store.js'],
  ['core/src/algorithms/b.ts', '../limit.js'],
  ['core/src/algorithms/c.ts', 'node:fs'],
  ['core/src/algorithms/d.ts', 'luxon'],
  ['core/src/algorithms/e.ts', './../http/headers.js'],
  ['core/src/limit.ts', './limiter.js'],
  ['core/src/plan.ts', './stores/store.js'],
  ['core/src/decision.ts', './stores/memory.js'],
  ['core/src/stores/a.ts', '../http/headers.js'],
  ['core/src/stores/b.ts', '../failure/guard.js'],
  ['core/src/stores/redis/a.ts', '../../http/headers.js'],
  ['core/src/stores/redis/b.ts', '../../limiter.js'],
  ['core/src/stores/redis/c.ts', 'ioredis'],
  ['core/src/failure/a.ts', '../stores/redis/redis-store.js'],
  ['core/src/failure/b.ts', '../limiter.js'],
  ['core/src/limiter.ts', './http/headers.js'],
  ['core/src/limiter.ts', './stores/redis/redis-store.js'],
  ['core/src/create-limiter.ts', './http/headers.js'],
  ['core/src/http/a.ts', '../stores/memory.js'],
  ['core/src/http/b.ts', '../failure/guard.js'],
  ['core/src/http/c.ts', 'express'],
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
] as const

const ALLOWED = [
  ['core/src/algorithms/f.ts', './kernel.js'],
  ['core/src/algorithms/f.ts', '../errors.js'],
  ['core/src/plan.ts', './limit.js'],
  ['core/src/stores/f.ts', '../algorithms/algorithm.js'],
  ['core/src/stores/f.ts', './redis/script.js'],
  ['core/src/stores/redis/f.ts', '../store.js'],
  ['core/src/stores/redis/f.ts', '../../errors.js'],
  ['core/src/failure/f.ts', '../stores/store.js'],
  ['core/src/failure/f.ts', '../stores/memory.js'],
  ['core/src/limiter.ts', './stores/batcher.js'],
  ['core/src/limiter.ts', './failure/guard.js'],
  ['core/src/create-limiter.ts', './stores/redis/redis-store.js'],
  ['core/src/http/f.ts', '../limiter.js'],
  ['core/src/http/f.ts', './headers.js'],
  ['core/src/index.ts', './http/adapter.js'],
  ['express/src/f.ts', '@tollgate/core'],
  ['express/src/f.ts', '@tollgate/core/adapter'],
  ['express/src/f.ts', 'express'],
  ['fastify/src/f.ts', 'fastify-plugin'],
  ['fastify/src/f.ts', './adapter.js'],
  ['koa/src/f.ts', 'koa'],
  ['metrics/src/f.ts', '@tollgate/core'],
  ['metrics/src/f.ts', '@tollgate/core/adapter'],
  ['metrics/src/f.ts', '@opentelemetry/api'],
  ['metrics/src/f.ts', 'node:diagnostics_channel'],
  ['metrics/src/f.ts', './ledger.js'],
  ['core/test/laws/f.ts', '../../src/stores/memory.js'],
] as const

const named = (imports: readonly (readonly [string, string])[]): string[] =>
  imports.map(([file, module]) => `${file} imports ${module}`).sort((a, b) => a.localeCompare(b))

/** Which of these imports the linter of this repository refuses, in a copy that has only them. */
function refused(imports: readonly (readonly [string, string])[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-imports-'))
  try {
    copyFileSync(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'))
    const files = new Map<string, string>()
    for (const [file, module] of imports) files.set(file, `${files.get(file) ?? ''}import '${module}'\n`)
    for (const [file, text] of files) write(join(folder, 'packages', file), text)
    const lint = join(root, 'node_modules/.bin/oxlint')
    const { stdout } = spawnSync(lint, ['--format', 'unix', '.'], { cwd: folder, encoding: 'utf8' })
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
  test('every forbidden import is refused', () => {
    expect(refused(FORBIDDEN)).toEqual(named(FORBIDDEN))
  })

  test('no allowed one is', () => {
    expect(refused(ALLOWED)).toEqual([])
  })
})
