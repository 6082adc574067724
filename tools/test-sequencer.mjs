import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { relative, sep } from 'node:path'
import { durationsFile, root } from './test-durations.mjs'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

/** Starts the longest files first: if one of them began last, all would wait for it. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const file = durationsFile()
    const seconds = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
    // A file that is not recorded yet is not known to be short.
    const of = ({ path }) => seconds[relative(root, path).split(sep).join('/')] ?? Infinity
    return [...tests].toSorted((a, b) => of(b) - of(a) || (a.path < b.path ? -1 : 1))
  }
}
