import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { PUBLISHED } from './published.ts'

export const root = resolve(__dirname, '../../..')

/** Where the project lives: packages link to their docs there, since they are read on npm. */
export const HOME = 'https://github.com/tollgate-js/tollgate'

/** What each published package begins with on npm, as paths from the root. */
export const packageReadmes: readonly string[] = PUBLISHED.map((name) => `packages/${name}/README.md`)

/** READMEs, docs and what else a reader finds at the root, as paths from there. */
export const pages: readonly string[] = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'],
  ...packageReadmes,
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
]

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
