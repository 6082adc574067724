// The committed files that a run renders: figures, page, charts, and the summary in the README.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chartsOf } from './charts.mjs'
import { publishedOf } from './words/noise.mjs'
import { pageOf } from './page.mjs'
import { withSummary } from './words/readme.mjs'

const root = fileURLToPath(new URL('../../../../', import.meta.url))

/** Indented, with each list of figures on one line. */
export function jsonOf(value) {
  const text = JSON.stringify(value, null, 1)
  return `${text.replaceAll(/\[[^[\]{}"']*\]/g, (list) => list.replaceAll(/\s+/g, ''))}\n`
}

/** @returns {Record<string, string>} texts by their path from the root of the repository */
export function filesOf(run) {
  const published = publishedOf(run)
  const charts = chartsOf(published)
  return {
    'docs/compare/benchmarks/results.json': jsonOf(run),
    'docs/compare/benchmarks.md': pageOf(published, charts),
    ...Object.fromEntries(
      Object.entries(charts).map(([name, svg]) => [`docs/compare/benchmarks/${name}.svg`, svg]),
    ),
    'README.md': withSummary(readFileSync(join(root, 'README.md'), 'utf8'), published),
  }
}

export function writeFiles(files) {
  return Object.entries(files).map(([path, text]) => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
    return path
  })
}

/** @returns the paths whose file is missing or has another text */
export function differences(files) {
  return Object.entries(files)
    .filter(
      ([path, text]) => !existsSync(join(root, path)) || readFileSync(join(root, path), 'utf8') !== text,
    )
    .map(([path]) => path)
}
