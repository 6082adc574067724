import { createRequire } from 'node:module'
import { recordedDurations } from './test-durations.mjs'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

/** Starts the longest files first: if one of them began last, all would wait for it. */
export default class LongestFirst extends Sequencer {
  sort(tests) {
    const secondsOf = recordedDurations()
    // A file that is not recorded yet is not known to be short.
    const of = ({ path }) => secondsOf(path) ?? Infinity
    return [...tests].toSorted((a, b) => of(b) - of(a) || (a.path < b.path ? -1 : 1))
  }
}
