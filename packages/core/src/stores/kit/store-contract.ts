import type { MaybePromise } from '../../base/maybe-promise.js'
import type { Store } from '../contract.js'
import { checkStore } from '../store-check.js'
import { Bench, type Check } from './bench.js'
import { consumeChecks } from './consume-checks.js'
import { forceChecks } from './force-checks.js'
import { holdChecks } from './hold-checks.js'
import { keyChecks } from './key-checks.js'
import { leaseChecks } from './lease-checks.js'
import { placeChecks } from './place-checks.js'
import { planChecks } from './plan-checks.js'
import { refundChecks } from './refund-checks.js'
import { timeChecks } from './time-checks.js'
import { upToChecks } from './up-to-checks.js'

/** A check for a test runner: a name, and a function that rejects when the store fails it. */
export interface StoreCheck {
  readonly name: string
  readonly check: () => Promise<void>
}

const CHECKS: readonly Check[] = [
  ...consumeChecks,
  ...upToChecks,
  ...forceChecks,
  ...refundChecks,
  ...planChecks,
  ...keyChecks,
  ...timeChecks,
  ...leaseChecks.map((check) => ({ ...check, needsLeases: true })),
  ...[...holdChecks, ...placeChecks].map((check) => ({ ...check, needsHolds: true })),
]

/**
 * The requirements for every store, as checks for any test runner:
 *
 * ```ts
 * for (const { name, check } of storeContract(() => makeStore())) test(name, check)
 * ```
 *
 * Abilities that the store does not claim are not tested: checks of several keys pass if it is not `atomic`, those of
 * leases if it has no `leases`, of reservations and places if it has no `holds`, and only its `algorithms` are tried. Each check uses new keys, so all of them may use one server.
 *
 * @param make makes a store; called by each check, which closes the store at its end
 */
export function storeContract(make: () => MaybePromise<Store>): readonly StoreCheck[] {
  return CHECKS.map(({ name, needsAtomic = false, needsLeases = false, needsHolds = false, run }) => ({
    name,
    check: async () => {
      const store = await make()
      checkStore(store, 'store')
      await store.ready?.()
      try {
        const isAble = (store.atomic || !needsAtomic) && (store.leases || !needsLeases)
        if (isAble && (store.holds || !needsHolds)) await run(new Bench(store))
      } finally {
        await store.close?.()
      }
    },
  }))
}
