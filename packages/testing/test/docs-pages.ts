import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PUBLISHED } from './published.ts'

export const root = resolve(__dirname, '../../..')

/** Where the project lives: packages link to their docs there, since they are read on npm. */
export const HOME = 'https://github.com/tollgate-js/tollgate'

/** What each published package begins with on npm, as paths from the root. */
export const packageReadmes: readonly string[] = PUBLISHED.map((name) => `packages/${name}/README.md`)

/** Every text file with links, as paths from the root. */
export const markdown: readonly string[] = [
  ...markdownIn('.', false),
  ...markdownIn('docs', true),
  ...['packages', 'examples'].flatMap((parent) =>
    readdirSync(join(root, parent)).flatMap((name) => markdownIn(`${parent}/${name}`, false)),
  ),
]

/** What people read, with programs on it: all but what an example says of itself. */
export const pages: readonly string[] = markdown.filter((page) => !page.startsWith('examples/'))

function markdownIn(folder: string, recursive: boolean): string[] {
  return readdirSync(join(root, folder), { recursive })
    .map((name) => String(name).replaceAll('\\', '/'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => (folder === '.' ? name : `${folder}/${name}`))
    .sort()
}

export const textOf = (page: string): string => readFileSync(join(root, page), 'utf8')

/** A program on a page. */
export interface Block {
  readonly page: string
  /** The line of the page that its first line stands on, from 1. */
  readonly line: number
  readonly code: string
}

/** The programs of a page, in their order. */
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

/** Where the links of a page lead, as written. Programs have none. */
export function linksOf(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '`')
  return [...prose.matchAll(/\]\(([^)\s]*)\)/g)].map(([, target = '']) => target)
}
