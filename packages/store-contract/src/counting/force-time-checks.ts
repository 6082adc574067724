import assert from 'node:assert/strict'
import {
  implementations,
  type CompiledLimit,
  type LimitSet,
  type Outcome,
  type Params,
  type Usage,
} from '@tollgate/core/store'
import type { Bench, Check } from '../bench.js'
import { force, given } from '../requests.js'
import { same } from '../same.js'

const HOUR_US = 3_600_000_000
/** Older than the longest window of the checks. */
const LONG_AGO_US = 100 * 24 * HOUR_US

/** By how much a reset may differ from the expected one, since the clocks of store and check differ. */
const MOST_APART_US = 1_000_000

/** Some units, and when the store says that it counted them, in µs. */
interface Counted extends Usage {
  readonly at: number
}

/** When the first of these units comes back if no others are used, in µs, by the algorithm itself. */
function resetOf(bench: Bench, { limits: [limit] }: LimitSet, { at, ...usage }: Counted): number {
  const { algorithm, paramsAt } = limit as CompiledLimit
  const { create, load, force: take, remaining, wait } = implementations[algorithm]
  const [state, params] = [create(), paramsAt(at / 1000)]
  if (algorithm === 'fixed-window' && bench.windows === 'aligned')
    return alignedReset(params, at - usage.ageUs, at)
  load(state, at, at, params)
  take(state, [usage], params)
  return Math.max(wait(state, remaining(state, params) + 1, params), 0)
}

function alignedReset({ windowUs = NaN }: Params, used: number, at: number): number {
  return Math.max(used - (used % windowUs) + windowUs - at, 0)
}

export const forceTimeChecks: readonly Check[] = [
  {
    name: 'force: counts units from the time of their use, for every algorithm',
    async run(bench) {
      for (const algorithm of bench.algorithms) {
        const set = bench.set(5, algorithm)
        const old = bench.used(`${algorithm} old`, set, [[3, LONG_AGO_US]])
        const [gone] = await bench.consume(force([old]))
        same(
          given(gone),
          [[3], [5]],
          `${algorithm}: granted and remaining of 5, after 3 that were used 100 days ago`,
        )
        for (const ageUs of [HOUR_US, 0]) {
          const name = `${algorithm}: 5 units used ${ageUs} µs ago`
          const [outcome] = await bench.consume(force([bench.used(name, set, [[5, ageUs]])]))
          const { at, limits } = outcome as Outcome
          const [told, reset] = [limits[0]?.reset ?? 0, resetOf(bench, set, { at, units: 5, ageUs })]
          const isSo = Math.abs(told - reset) < MOST_APART_US
          assert.ok(isSo, `${name}: the contract asks for a reset of ${reset} µs, the store answered ${told}`)
        }
      }
    },
  },
]
