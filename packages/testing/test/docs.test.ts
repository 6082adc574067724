// README and docs are programs and links, too: they must parse, import what exists, use options that exist, and lead
// somewhere.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parse } from '@swc/core'
import * as core from '@tollgate/core'

const root = resolve(__dirname, '../../..')
const files = [
  'README.md',
  ...['docs', 'docs/migrate-from'].flatMap((folder) =>
    readdirSync(join(root, folder))
      .filter((name) => name.endsWith('.md'))
      .map((name) => `${folder}/${name}`),
  ),
]
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const blocks = files.flatMap((file) =>
  [...textOf(file).matchAll(/^```js\n([\s\S]*?)^```$/gm)].map(
    ([, code = ''], i) => [`${file} ${i + 1}`, code] as const,
  ),
)

/** What adapters export besides core. */
const ADAPTERS = ['rateLimit']

describe.each(blocks)('the program %s', (_, code) => {
  test('parses, and imports what there is', async () => {
    const { body } = await parse(code, { syntax: 'ecmascript', target: 'es2022' })
    for (const statement of body) {
      if (statement.type !== 'ImportDeclaration' || !statement.source.value.startsWith('@tollgate/')) continue
      const exported =
        statement.source.value === '@tollgate/core' ? Object.keys(core) : [...Object.keys(core), ...ADAPTERS]
      for (const { local } of statement.specifiers) expect(exported).toContain(local.value)
    }
  })

  test('uses options that there are', () => {
    // Theirs, not ours: the first half of a page on migrating.
    if (code.startsWith('// before')) return
    for (const [, name] of code.matchAll(/^ {2,4}(\w+)(?=[:,])/gm)) {
      if (/rateLimit\(|createLimiter\(/.test(code)) expect(KNOWN).toContain(name)
    }
  })
})

/** Options of the limiter and of HTTP, and what examples call theirs within those. */
const KNOWN = [
  ...[
    'plans',
    'limit',
    'defaultPlan',
    'planOf',
    'planCache',
    'store',
    'onStoreFailure',
    'deadlineMs',
    'hashIds',
  ],
  ...[
    'limiter',
    'identify',
    'cost',
    'skip',
    'methods',
    'allowList',
    'blockList',
    'refundWhen',
    'headers',
    'body',
  ],
  ...['onDenied', 'retryJitterMs', 'group', 'stacked', 'hook'],
  ...['free', 'starter', 'pro', 'internal', 'guard', 'autoResendUnfulfilledCommands'],
]

describe.each(files)('links of %s', (file) => {
  const links = [...textOf(file).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target)

  test.each(links.length > 0 ? links : ['#none'])('%s', (link) => {
    if (link === '#none') return expect(links).toEqual([])
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? join(root, file) : join(root, dirname(file), path)
    expect([relative(root, target), existsSync(target)]).toEqual([relative(root, target), true])
    if (anchor === undefined) return undefined
    const headings = [...readFileSync(target, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    )
    return expect(headings).toContain(anchor)
  })
})
