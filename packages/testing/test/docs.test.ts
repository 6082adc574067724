// All links of the repository's texts work, and docs/README.md links to every page of docs. docs-types.deep.test.ts and
// docs-run.deep.test.ts check the programs on them.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { OPTIONS_PAGE, pageOf } from '../../core/src/base/errors.js'
import { anchorsOf, blocksOf, HOME, linksOf, markdown, pages, root, textOf } from './docs-pages.ts'

const WEB = /^https:\/\/[a-z0-9.-]+\.[a-z]{2,}(\/[^\s]*)?$/

/** The file that a URL of the project shows. READMEs on npm link to files by such URLs. */
const fileOf = (link: string): string | undefined =>
  link.startsWith(HOME) ? /\/(?:blob|tree)\/main\/(.+)$/.exec(link)?.[1] : undefined

/** The fault of a link of a page; undefined if it works. */
function faultOf(page: string, given: string): string | undefined {
  const file = fileOf(given)
  const link = file === undefined ? given : posix.relative(dirname(page), file)
  if (/^[a-z]+:/.test(link)) {
    return WEB.test(link) || link.startsWith('mailto:') ? undefined : `${link} is no https address`
  }
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? join(root, page) : join(root, dirname(page), path)
  if (!existsSync(target)) return `${link} does not exist`
  if (anchor === undefined) return undefined
  if (statSync(target).isDirectory()) return `${link} is a folder, which has no headings`
  return anchorsOf(readFileSync(target, 'utf8')).includes(anchor) ? undefined : `${link} has no such heading`
}

test.each(markdown)('links of %s work', (page) => {
  const faults = linksOf(textOf(page)).map((link) => faultOf(page, link))
  expect(faults.filter((fault) => fault !== undefined)).toEqual([])
})

test('the addresses in messages of core lead to a page and its heading', () => {
  const folder = join(root, 'packages/core/src')
  const sources = readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.ts'))
  const named = sources.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/pageOf\('([^']+)'\)/g)].map(([, to = '']) =>
      pageOf(to),
    ),
  )
  expect(named.length).toBeGreaterThan(5)
  for (const address of [...named, OPTIONS_PAGE]) {
    expect(address.startsWith(`${HOME}/blob/main/`)).toBe(true)
    expect(faultOf('README.md', address)).toBeUndefined()
  }
})

test('a broken link is reported', () => {
  const page = 'docs/operations/redis.md'
  expect(faultOf(page, 'no-such-page.md')).toMatch('does not exist')
  expect(faultOf(page, '../reference/errors.md#no-such-heading')).toMatch('no such heading')
  expect(faultOf(page, '#no-such-heading')).toMatch('no such heading')
  expect(faultOf(page, '../../examples#a')).toMatch('is a folder')
  expect(faultOf(page, `${HOME}/blob/main/docs/no-such-page.md`)).toMatch('does not exist')
  expect(faultOf(page, 'http://example.com')).toMatch('no https address')
  expect(faultOf(page, '../reference/errors.md')).toBeUndefined()
  expect(linksOf('[a](b.md) `[c](d.md)`\n```js\n[e](f.md)\n```\n[g]: h.md\n')).toEqual(['b.md', 'h.md'])
  expect(anchorsOf('# A `b`, c\n## A b c\n```sh\n# no heading\n```\n')).toEqual(['a-b-c', 'a-b-c-1'])
})

test('README links to docs/README.md, which links to every page of docs', () => {
  expect(linksOf(textOf('README.md'))).toContain('docs/README.md')
  const listed = linksOf(textOf('docs/README.md')).map((link) => posix.join('docs', link.split('#')[0] ?? ''))
  const others = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
  expect(others.filter((page) => !listed.includes(page))).toEqual([])
})

/** Pages without programs: commands, indexes, reports, and what is looked up. */
const WITHOUT_PROGRAM = [
  'operations/a-customer-complains',
  'README',
  'recipes/README',
  'operations/faults',
  'compare/benchmarks',
  'compare/features',
  'operations/leases-at-scale',
  'reference/glossary',
  'reference/versions',
].map((name) => `docs/${name}.md`)

test('every page of docs begins with a program', () => {
  const others = pages.filter(
    (page) =>
      page.startsWith('docs/') && !page.startsWith('docs/reference/api/') && !WITHOUT_PROGRAM.includes(page),
  )
  const beginsLate = others.filter((page) => (blocksOf(page, textOf(page))[0]?.line ?? Infinity) > 15)
  expect(beginsLate).toEqual([])
})

test('each page of docs/start ends with a link to the next one, the last with one to the recipes', () => {
  const path = pages.filter((page) => page.startsWith('docs/start/'))
  const next = path.map((page) => posix.join('docs/start', linksOf(textOf(page)).at(-1) ?? ''))
  expect(path).toHaveLength(5)
  expect(next).toEqual([...path.slice(1), 'docs/recipes/README.md'])
})

test('the files that CONTRIBUTING.md names exist', () => {
  const named = [...textOf('CONTRIBUTING.md').matchAll(/`(packages\/[^`\s]+)`/g)].map(([, path = '']) => path)
  // NAME is a placeholder.
  const paths = named.filter((path) => !path.includes('NAME'))
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
