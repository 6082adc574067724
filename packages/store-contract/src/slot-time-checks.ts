import assert from 'node:assert/strict'
import { SLOTS_KEPT_MS } from '@tollgate/core/store'
import type { Check } from './bench.js'
import { free, Holder, slotsOf } from './slot-holders.js'
import { same } from './same.js'

const HALF_MS = SLOTS_KEPT_MS / 2
/** Beside this half a check has seconds of real time for itself. */
const OTHER_HALF_MS = HALF_MS + 1000

/** When slots end of which nothing is told any more. Only for stores whose clock the test can set. */
export const slotTimeChecks: readonly Check[] = [
  {
    name: 'slots: those of a holder that tells nothing more end, and not those of the others',
    async run(bench) {
      const set = slotsOf(3)
      const [dead, living] = [new Holder(bench, 1), new Holder(bench, 2)]
      await dead.begin('a', set)
      bench.pass(HALF_MS)
      assert.ok(await living.begin('a', set))
      same(await free(bench, 'a', set), 1, 'slots left')
      bench.pass(OTHER_HALF_MS)
      same(await free(bench, 'a', set), 2, 'slots left')
    },
  },
  {
    name: 'slots: a declaration keeps them, a release leaves their end as it was',
    async run(bench) {
      const set = slotsOf(5)
      const [one, two] = [new Holder(bench, 1), new Holder(bench, 2)]
      for (const by of [one, one, two, two]) await by.begin('a', set)
      bench.pass(HALF_MS)
      one.held -= 1
      two.held -= 1
      await one.tell('declare', 'a', set)
      await two.tell('release', 'a', set)
      same(await free(bench, 'a', set), 3, 'slots left')
      bench.pass(OTHER_HALF_MS)
      same(await free(bench, 'a', set), 4, 'slots left')
      bench.pass(SLOTS_KEPT_MS)
      same(await free(bench, 'a', set), 5, 'slots left')
    },
  },
]
