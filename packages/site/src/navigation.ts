import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { siteLink } from './links.ts'

/** A line of docs/README.md. */
export interface Entry {
  readonly title: string
  /** An address on the site, or of a file on GitHub. */
  readonly link: string
  /** What the page is about, in markdown without links; empty if the line does not say. */
  readonly description: string
}

export interface Section {
  readonly title: string
  readonly entries: readonly Entry[]
}

/** The list of all pages. */
export const INDEX = 'docs/README.md'
const ITEM = /^(?:[-*]|\d+\.) +\[([^\]]+)\]\(([^)\s]+)\)(?::\s*(.*))?$/

/**
 * The sections of docs/README.md, with the pages that each lists. It is the only list of pages.
 *
 * @param root the repository's folder
 * @throws {Error} when a page of docs stands in no list of it
 */
export function navigationOf(root: string): Section[] {
  const text = readFileSync(join(root, INDEX), 'utf8')
  const sections = text
    .split(/^## /m)
    .slice(1)
    .map((part): Section => {
      const [title = '', ...lines] = part.split('\n')
      return { title: title.trim(), entries: entriesOf(root, lines) }
    })
    .filter(({ entries }) => entries.length > 0)
  refuseMissing(root, sections)
  return sections
}

function entriesOf(root: string, lines: readonly string[]): Entry[] {
  // An item may go on in indented lines.
  const items = lines.join('\n').replaceAll(/\n {2,}(?![-*\d])/g, ' ')
  return items.split('\n').flatMap((line) => {
    const [, title, target, description = ''] = ITEM.exec(line.trim()) ?? []
    if (title === undefined || target === undefined) return []
    const plain = description.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').trim()
    return [{ title: title.replaceAll('`', ''), link: siteLink(root, INDEX, target), description: plain }]
  })
}

function refuseMissing(root: string, sections: readonly Section[]): void {
  const listed = new Set(sections.flatMap(({ entries }) => entries.map(({ link }) => link.split('#')[0])))
  const missing = pagesOf(root).filter((page) => page !== INDEX && !listed.has(siteLink(root, '', page)))
  if (missing.length === 0) return
  throw new Error(
    `${INDEX} must list each page as "- [Title](path): what it is about". Not listed: ${missing.join(', ')}`,
  )
}

/** The pages of docs, as paths from the repository's root. */
export function pagesOf(root: string): string[] {
  return readdirSync(join(root, 'docs'), { recursive: true })
    .map((name) => `docs/${String(name).replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md'))
    .sort()
}
