// Sections of the benchmarks, and the programs that they start, are named in texts that no type check reads.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './docs-pages.ts'

const source = join(root, 'packages/benchmarks/src')

test('every section, and every program that a section starts, is where it is looked for', () => {
  const programs = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((one) =>
    one.endsWith('.mjs'),
  )
  const textFor = (file: string): string => readFileSync(join(source, file), 'utf8')
  const named = (text: string, pattern: RegExp): string[] =>
    [...text.matchAll(pattern)].map(([, found]) => found as string)
  const sections = named(textFor('sections.mjs'), /file: '([^']+)'/g).map((file) => join('sections', file))
  const started = programs.flatMap((file) => named(textFor(file), /startChild\('([^']+)'/g))
  expect([sections.length, started.length].map((count) => count > 9)).toEqual([true, true])
  expect([...sections, ...started].filter((file) => !programs.includes(file))).toEqual([])
})
