import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { addressOf, anchorOf, deadLinksIn, siteLink } from '../src/links.ts'
import { navigationOf, pagesOf } from '../src/navigation.ts'
import { readmeOf, tableOf } from '../src/readme.ts'

const root = resolve(__dirname, '../../..')
const folders: string[] = []

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-site-'))
  folders.push(folder)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

test('every page of docs has its place in the navigation', () => {
  const links = navigationOf(root).flatMap(({ entries }) => entries.map(({ link }) => link))
  const pages = pagesOf(root).filter((page) => page !== 'docs/README.md')
  expect(pages.length).toBeGreaterThan(30)
  expect(links).toEqual(expect.arrayContaining(pages.map(addressOf)))
})

test('the navigation is the lists of docs/README.md, in their order', () => {
  const folder = folderWith({
    'docs/README.md': [
      '# Docs\n\nSee [the second](b.md).\n\n## Start\n- [One](a.md): goes on',
      '  in [a second line](b.md).\n- [Two `b`](b.md#part)\n\n## Empty\n\nText.\n\n## More\n1. [Three](c/README.md)\n',
      '- [Laws](../LAWS.md): on GitHub.\n- [Two](b.md)\n',
    ].join('\n'),
    'docs/a.md': '# A\n',
    'docs/b.md': '# B\n',
    'docs/c/README.md': '# C\n',
    'LAWS.md': '# Laws\n',
  })
  expect(navigationOf(folder)).toEqual([
    {
      title: 'Start',
      entries: [
        { title: 'One', link: '/a', description: 'goes on in a second line.' },
        { title: 'Two b', link: '/b#part', description: '' },
      ],
    },
    {
      title: 'More',
      entries: [
        { title: 'Three', link: '/c/', description: '' },
        {
          title: 'Laws',
          link: 'https://github.com/tollgate-js/tollgate/blob/main/LAWS.md',
          description: 'on GitHub.',
        },
        { title: 'Two', link: '/b', description: '' },
      ],
    },
  ])
})

test('a page without a place in the navigation is refused', () => {
  const folder = folderWith({
    'docs/README.md': '# Docs\n\n## Start\n- [One](a.md): a page.\n',
    'docs/a.md': '# A\n',
    'docs/lost.md': '# Lost\n',
  })
  expect(() => navigationOf(folder)).toThrow('Not listed: docs/lost.md')
})

test('a link leads to a page of the site, or to a file on GitHub', () => {
  const github = 'https://github.com/tollgate-js/tollgate'
  const linkOf = (given: string) => siteLink(root, 'docs/guides/leases.md', given)
  expect(linkOf('waiting.md#a-b')).toBe('/guides/waiting#a-b')
  expect(linkOf('../README.md')).toBe('/docs')
  expect(linkOf('../../README.md')).toBe(`${github}/blob/main/README.md`)
  expect(linkOf('../../examples/')).toBe(`${github}/tree/main/examples`)
  expect(linkOf(`${github}/blob/main/docs/guides/waiting.md`)).toBe('/guides/waiting')
  expect(linkOf('#here')).toBe('#here')
  expect(linkOf('https://example.com/a')).toBe('https://example.com/a')
  expect(() => linkOf('no-such-page.md')).toThrow(
    'docs/guides/leases.md: the link no-such-page.md leads to no file',
  )
  expect(() => linkOf('../../../x')).toThrow('leads to no file')
})

test('anchors are those of GitHub', () => {
  expect(anchorOf('A `b`, c: what’s it?')).toBe('a-b-c-whats-it')
  expect(anchorOf('Über 2 x_y - z')).toBe('über-2-x_y---z')
})

test('dead links of a built site are found', () => {
  const folder = folderWith({
    'index.html': [
      '<a href="/a#there">a</a> <a href="/a#gone">b</a> <a href="/gone">c</a> <a href="/b/">d</a>',
      '<img src="/no.svg"> <a href="https://example.com/">e</a> <p id="x"><a href="#x">f</a> <a href="#y">g</a>',
    ].join('\n'),
    'a.html': '<h2 id="there">A</h2>',
    'b/index.html': '<a href="../a">a</a>',
  })
  expect(deadLinksIn(folder)).toEqual([
    'index.html: /a#gone leads to no heading',
    'index.html: /gone leads to no file',
    'index.html: #y leads to no heading',
    'index.html: /no.svg leads to no file',
  ])
})

test('the home page finds what it shows of a README', () => {
  const program = "```js\nimport 'x'\n```"
  const table = '|  | Tollgate | express-rate-limit |\n| --- | --- | --- |\n| a | b | c |\n'
  const picture = '![A seam](docs/pictures/seam.svg)'
  expect(readmeOf(`# T\n\nOne\nsentence.\n\n${program}\n\n${table}\n${picture}\n`)).toEqual({
    summary: 'One sentence.',
    program,
    comparison: table,
    picture: { name: 'seam.svg', alt: 'A seam' },
  })
  expect(readmeOf(`# T\n\nOne.\n\n${program}\n`)).toMatchObject({ comparison: undefined, picture: undefined })
  expect(() => readmeOf('# T\n\nOne.\n')).toThrow('README.md must begin with a paragraph')
})

test('a table is read cell by cell', () => {
  expect(tableOf('|  | A | `b` |\n| --- | --- | --- |\n| one | 1 \\| 2 | |\n')).toEqual({
    columns: ['', 'A', '`b`'],
    rows: [['one', '1 \\| 2', '']],
  })
})
