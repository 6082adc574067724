import { createRequire } from 'node:module'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

/** Files that take a minute: one of them that begins last is waited for by all. */
const LONGEST = [
  'faults/test/short',
  'faults/test/soak',
  'core/test/redis-cluster-clients',
  'testing/test/packed',
  'laws/07-plans-move',
  'laws/04-truthful-retry',
  'laws/02-all-or-nothing',
  'laws/05-one-truth',
]

/** Begins with the longest, also on a machine where nobody has timed them yet. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const rank = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.includes(name))
      return found === -1 ? LONGEST.length : found
    }
    return [...(await super.sort(tests))].toSorted((a, b) => rank(a) - rank(b))
  }
}
