import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const root = resolve(__dirname, '../../..')

/** README and docs, as paths from the root. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name.replaceAll('\\', '/')}`),
]

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
