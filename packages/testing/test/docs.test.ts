// Checks the links of README and docs. docs-types.test.ts checks their programs.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { pages, root, textOf } from './docs-pages.ts'

describe.each(pages)('links of %s', (page) => {
  const links = [...textOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map(([, target = '']) => target)

  test.each(links.length > 0 ? links : ['#none'])('%s', (link) => {
    if (link === '#none') return expect(links).toEqual([])
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? join(root, page) : join(root, dirname(page), path)
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
