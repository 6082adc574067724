import { createRequire } from 'node:module'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

/** Test files that take about a minute. If one of them started last, the whole run would wait for it. */
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

/** Runs the longest files first. Jest knows how long a file takes only after it has run once on this machine. */
export default class LongestFirst extends Sequencer {
  async sort(tests) {
    const rank = ({ path }) => {
      const found = LONGEST.findIndex((name) => path.includes(name))
      return found === -1 ? LONGEST.length : found
    }
    return [...(await super.sort(tests))].toSorted((a, b) => rank(a) - rank(b))
  }
}
