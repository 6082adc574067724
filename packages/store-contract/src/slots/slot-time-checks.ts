import assert from 'node:assert/strict'
import { SLOTS_KEPT_MS } from '@tollgate/core/store'
import type { Check } from '../bench.js'
import { free, Holder, slotsOf } from './slot-holders.js'
import { same } from '../same.js'

const SPARE_MS = 2000
const NEARLY_MS = SLOTS_KEPT_MS - SPARE_MS
/** Longer than a check takes. */
const MORE_MS = 2 * SPARE_MS
const MOST_TRIES = 5

/**
 * Runs a check with a key of its own. Real time passes beside that which the test sets: a check that fails and took too much of it
 * is tried again.
 */
async function inTime(check: (key: string) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const began = performance.now()
    try {
      return await check(`a${tries}`)
    } catch (error) {
      if (tries === MOST_TRIES || performance.now() - began < SPARE_MS) throw error
    }
  }
}

/** When the slots of a silent holder end. Only for stores whose clock the test can set. */
export const slotTimeChecks: readonly Check[] = [
  {
    name: 'slots: those of a silent holder end, and those of the others do not',
    run: (bench) =>
      inTime(async (key) => {
        const set = slotsOf(3)
        const [dead, living] = [new Holder(bench, 1), new Holder(bench, 2)]
        await dead.begin(key, set)
        bench.pass(NEARLY_MS)
        assert.ok(await living.begin(key, set))
        same(await free(bench, key, set), 1, 'slots left')
        bench.pass(MORE_MS)
        same(await free(bench, key, set), 2, 'slots left')
      }),
  },
  {
    name: 'slots: a declaration keeps them, a release leaves their end as it was',
    run: (bench) =>
      inTime(async (key) => {
        const set = slotsOf(5)
        const [one, two] = [new Holder(bench, 1), new Holder(bench, 2)]
        for (const by of [one, one, two, two]) await by.begin(key, set)
        bench.pass(NEARLY_MS)
        one.held -= 1
        two.held -= 1
        await one.tell('declare', key, set)
        await two.tell('release', key, set)
        same(await free(bench, key, set), 3, 'slots left')
        bench.pass(MORE_MS)
        same(await free(bench, key, set), 4, 'slots left')
        bench.pass(SLOTS_KEPT_MS)
        same(await free(bench, key, set), 5, 'slots left')
      }),
  },
]
