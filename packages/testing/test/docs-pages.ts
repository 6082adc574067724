import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PUBLISHED } from './published.ts'

export const root = resolve(__dirname, '../../..')

/** The project's address. The packages' READMEs link to it, since npm shows them without the docs. */
export const HOME = 'https://github.com/tollgate-js/tollgate'

/** The READMEs that npm shows, as paths from the root. */
export const packageReadmes: readonly string[] = PUBLISHED.map((name) => `packages/${name}/README.md`)

/** Every text file with links, as paths from the root. */
export const markdown: readonly string[] = [
  ...markdownIn('.', false),
  ...markdownIn('docs', true),
  ...['packages', 'examples'].flatMap((parent) => [
    ...markdownIn(parent, false),
    ...foldersIn(parent).flatMap((folder) => markdownIn(folder, false)),
  ]),
]

/** The pages whose programs are checked: all except those of the examples. */
export const pages: readonly string[] = markdown.filter((page) => !page.startsWith('examples/'))

function foldersIn(parent: string): string[] {
  return readdirSync(join(root, parent), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${parent}/${name}`)
}

function markdownIn(folder: string, recursive: boolean): string[] {
  return readdirSync(join(root, folder), { recursive })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => (folder === '.' ? name : `${folder}/${name}`))
    .sort()
}

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/** A program in a code block of a page. */
export interface Block {
  readonly page: string
  /** The line of the page with the first line of the program, from 1. */
  readonly line: number
  readonly code: string
}

/** The programs of a page, in order. */
export function blocksOf(page: string, text: string): Block[] {
  return [...text.matchAll(/^```(?:js|ts)\n([\s\S]*?)^```$/gm)].map(({ index, 1: code = '' }) => {
    return { page, line: text.slice(0, index).split('\n').length + 1, code }
  })
}

/** The anchors of a page's headings, as GitHub makes them: the second of one name ends with -1. */
export function anchorsOf(text: string): string[] {
  const seen = new Map<string, number>()
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '')
  return [...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => {
    const name = heading
      .replace(/\]\([^)]*\)/g, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-')
    const before = seen.get(name) ?? 0
    seen.set(name, before + 1)
    return before === 0 ? name : `${name}-${before}`
  })
}

/** The targets of a page's links, and of its references (`[name]: target`), as written. Code has none. */
export function linksOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^)\s]*)\)|^\[[^\]]+\]: (\S+)$/gm)].map(
    ([, target, referred]) => target ?? referred ?? '',
  )
}
