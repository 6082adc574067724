import { createRequire } from 'node:module'

const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer')

/**
 * Test files that take long, in the order of their start. If one of them began last, all would wait for it. Those that
 * mostly wait for servers stand between those that compute, so that they overlap.
 */
const LONGEST = [
  'faults/test/in-flight.test',
  'stores/redis/cluster-clients',
  'testing/test/packed',
  'roads/roads-one-step',
  'roads/roads-leases.test',
  'faults/test/short',
  'testing/test/examples',
  'stores/redis/clients',
  'laws/07-plans-move',
  'roads/roads-faults',
  'store-contract/test/broken-stores',
  'leases/checker',
  'koa/test/adapter',
  'laws/01-holds',
  'express/test/adapter',
  'laws/05-one-truth',
  'laws/04-truthful-retry',
  'faults/test/soak',
  'faults/test/leases',
  'roads/roads-leases-cluster',
  'laws/02-all-or-nothing',
  'testing/test/graceful-stop',
  'redis/one-truth',
  'express/test/clients',
  'testing/test/topologies',
  'laws/09-always-an-answer',
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
