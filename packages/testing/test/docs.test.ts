// README and docs lead somewhere: their links are followed. docs-types.test.ts checks their programs.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { HOME, pages, root, textOf } from './docs-pages.ts'

/** The file of the project that an address shows: what is read on npm must name it so. */
const fileOf = (address: string): string | undefined =>
  address.startsWith(HOME) ? /\/(?:blob|tree)\/main\/(.+)$/.exec(address)?.[1] : undefined

describe.each(pages)('links of %s', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target) || fileOf(target) !== undefined)

  test.each(links.length > 0 ? links : ['#none'])('%s', (link) => {
    if (link === '#none') return expect(links).toEqual([])
    const [path = '', anchor] = link.split('#')
    const target = join(root, fileOf(path) ?? (path === '' ? page : join(dirname(page), path)))
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

test('the files that CONTRIBUTING.md names are there', () => {
  const named = [...textOf('CONTRIBUTING.md').matchAll(/`(packages\/[^`\s]+)`/g)].map(([, path = '']) => path)
  // NAME is for the reader to replace.
  const paths = named.filter((path) => !path.includes('NAME'))
  expect(paths.length).toBeGreaterThan(20)
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([])
})
