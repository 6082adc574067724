import { createRequire } from 'node:module'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

/** Test files that take a minute. If one of them began last, all would wait for it. */
const LONGEST = [
  'faults/test/short',
  'faults/test/soak',
  'stores/redis/cluster-clients',
  'testing/test/packed',
  'laws/07-plans-move',
  'laws/04-truthful-retry',
  'laws/02-all-or-nothing',
  'laws/05-one-truth',
]

/** Starts the longest files first, even on a machine without recorded times. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const rank = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.includes(name))
      return found === -1 ? LONGEST.length : found
    }
    return [...(await super.sort(tests))].toSorted((a, b) => rank(a) - rank(b))
  }
}
