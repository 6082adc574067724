// The rules of the linter. Who may import whom in core is made from the table of ARCHITECTURE.md, for folders at every depth.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** No folder of core lies deeper. */
const DEEPEST = 5

const page = readFileSync(join(import.meta.dirname, 'ARCHITECTURE.md'), 'utf8')
const [, table] = page.split('## Who may import whom')
const rows = [...table.matchAll(/^\| `([a-z-]+)\/` \|([^|]*)\|([^|]*)\|/gm)].map(
  ([, folder, folders, modules]) => ({
    folder,
    folders: namesIn(folders),
    modules: namesIn(modules),
  }),
)

function namesIn(cell) {
  return [...cell.matchAll(/`([^`]+?)\/?`/g)].map(([, name]) => name)
}

/** Denies all imports in these files but those that match a later pattern, which begins with `!`. */
function imports(files, patterns, message) {
  const group = ['**', ...patterns]
  return { files: [files], rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }] }] } }
}

function importsAtDepth({ folder, folders, modules }, depth) {
  const message = `${folder}/ imports what ARCHITECTURE.md says, and nothing else.`
  const up = (levels) => '../'.repeat(levels)
  const own = Array.from({ length: depth - 1 }, (_, i) => [`!${up(i + 1)}[a-z]*`, `!${up(i + 1)}[a-z]*/**`])
  const others = folders.map((name) => `!${up(depth)}${name}/**`)
  // Of a store on Redis nobody else knows anything.
  const hidden = folders.includes('stores') ? [`${up(depth)}stores/redis/**`] : []
  const files = `packages/core/src/${folder}/${'*/'.repeat(depth - 1)}*.ts`
  const patterns = ['!./**', ...own.flat(), ...others, ...hidden, ...modules.map((name) => `!${name}`)]
  return imports(files, patterns, message)
}

const floors = rows.flatMap((row) => Array.from({ length: DEEPEST }, (_, i) => importsAtDepth(row, i + 1)))

const ADAPTER = "An adapter knows core's faces for users and adapters, and its framework."

/** Packages beside core: what each may import, of its own files and others. */
const PACKAGES = {
  express: [ADAPTER, './*', '@tollgate/core', '@tollgate/core/adapter', 'express'],
  fastify: [ADAPTER, './*', '@tollgate/core', '@tollgate/core/adapter', 'fastify', 'fastify-plugin'],
  koa: [ADAPTER, './*', '@tollgate/core', '@tollgate/core/adapter', 'koa'],
  metrics: [
    "Metrics know core's public face, the API of OpenTelemetry, not its SDK, and prom-client.",
    ...[
      './*',
      '@tollgate/core',
      '@tollgate/core/adapter',
      '@opentelemetry/api',
      'prom-client',
      'node:diagnostics_channel',
    ],
  ],
  admin: [
    "The dashboard knows core's faces, and frameworks by their types alone.",
    ...['./*', './**', '../[a-z]*', '../[a-z]*/**', '@tollgate/core', '@tollgate/core/adapter'],
    ...['fastify', 'koa', 'node:crypto', 'node:http', 'node:os', 'node:stream', 'node:stream/promises'],
  ],
  cli: [
    "The command line knows core's faces, the dashboard, commander and ioredis, and no other package.",
    ...['./*', './**', '../[a-z]*', '../[a-z]*/**', '../../[a-z]*', '../../[a-z]*/**', '@tollgate/core'],
    ...[
      '@tollgate/admin',
      '@tollgate/core/adapter',
      'commander',
      'ioredis',
      'node:fs',
      'node:http',
      'node:net',
    ],
    ...['node:os', 'node:path', 'node:url', 'node:crypto', 'node:readline/promises', 'node:timers/promises'],
  ],
  'store-contract': [
    "The contract of stores knows what authors of stores know: core's face for them.",
    ...['./*', './beside/*', './counting/*', './slots/*', '../bench.js', '../requests.js', '../same.js'],
    ...['@tollgate/core/store', 'node:assert/strict', 'node:timers/promises', 'node:util'],
  ],
  stores: [
    "Drop-in stores know core's faces for users and authors of stores, and no other package: not even its types.",
    ...['./*', '@tollgate/core', '@tollgate/core/store', 'node:async_hooks'],
  ],
  memcached: [
    "The store on Memcached knows core's face for authors of stores, and no client: these are passed in.",
    ...['./**', '../[a-z]*', '../[a-z]*/**', '@tollgate/core/store', '@tollgate/core/adapter'],
    ...['node:net', 'node:crypto', 'node:perf_hooks'],
  ],
}

const packages = Object.entries(PACKAGES).map(([name, [message, ...allowed]]) =>
  imports(
    `packages/${name}/src/**`,
    allowed.map((one) => `!${one}`),
    message,
  ),
)

export default {
  plugins: ['typescript', 'import', 'node', 'promise', 'jest'],
  categories: { correctness: 'error' },
  ignorePatterns: ['**/dist/**', '**/*.generated.ts'],
  rules: {
    eqeqeq: 'error',
    'prefer-const': 'error',
    'no-var': 'error',
    'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    'max-lines': ['error', { max: 350, skipBlankLines: true, skipComments: true }],
    'max-lines-per-function': ['error', { max: 45, skipBlankLines: true, skipComments: true }],
    'max-params': ['error', { max: 4 }],
    'import/no-cycle': 'error',
    'typescript/await-thenable': 'off',
    'typescript/unbound-method': 'off',
    'typescript/no-redundant-type-constituents': 'off',
    'typescript/require-array-sort-compare': 'off',
    'unicorn/no-new-array': 'off',
    'unicorn/no-useless-spread': 'off',
    'typescript/no-explicit-any': 'error',
    'typescript/no-floating-promises': 'error',
    'typescript/no-misused-promises': ['error', { checksVoidReturn: false }],
    'typescript/consistent-type-imports': 'error',
    'typescript/explicit-module-boundary-types': 'error',
    'promise/no-callback-in-promise': 'off',
    'jest/require-to-throw-message': 'off',
    'jest/no-conditional-expect': 'off',
    'jest/expect-expect': 'off',
    'jest/no-standalone-expect': 'off',
    'jest/valid-title': 'off',
  },
  overrides: [
    {
      files: ['packages/{admin,cli,core,express,fastify,koa,memcached,metrics,store-contract,stores}/src/**'],
      rules: {
        'max-lines': ['error', { max: 350 }],
        'max-lines-per-function': ['error', { max: 40 }],
      },
    },
    {
      files: ['**/test/**', '**/contracts/**'],
      rules: {
        'max-lines-per-function': 'off',
        'max-params': 'off',
        'typescript/explicit-module-boundary-types': 'off',
      },
    },
    {
      files: ['examples/*/test/**'],
      rules: {
        'typescript/no-floating-promises': [
          'error',
          {
            allowForKnownSafeCalls: [
              {
                from: 'package',
                name: ['test', 'describe', 'it', 'suite'],
                package: 'node:test',
              },
            ],
          },
        ],
      },
    },
    {
      files: ['**/*.mjs', '**/*.js'],
      rules: {
        'typescript/explicit-module-boundary-types': 'off',
      },
    },
    imports('packages/core/src/*.ts', ['!./*/**'], 'A face names what is in the folders, and nothing else.'),
    ...floors,
    ...packages,
  ],
}
