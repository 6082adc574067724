import type { MaybePromise } from '../../base/maybe-promise.js'
import type { Store } from '../contract.js'
import { checkStore } from '../store-check.js'
import { Bench, type Check } from './bench.js'
import { consumeChecks } from './consume-checks.js'
import { forceChecks } from './force-checks.js'
import { keyChecks } from './key-checks.js'
import { planChecks } from './plan-checks.js'
import { refundChecks } from './refund-checks.js'
import { timeChecks } from './time-checks.js'
import { upToChecks } from './up-to-checks.js'

/** A check for a test runner: its name, and what rejects when the store does not do it. */
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
]

/**
 * What every store must do, whatever it keeps its counts in; for any test runner:
 *
 * ```ts
 * for (const { name, check } of storeContract(() => makeStore())) test(name, check)
 * ```
 *
 * What the store says that it cannot do is not asked of it: a check of several keys passes where it is not `atomic`,
 * and only its `algorithms` are tried. Keys are new for each check, so all may write to one server.
 *
 * @param make a store; called by each check, which closes it in the end
 */
export function storeContract(make: () => MaybePromise<Store>): readonly StoreCheck[] {
  return CHECKS.map(({ name, needsAtomic = false, run }) => ({
    name,
    check: async () => {
      const store = await make()
      checkStore(store, 'store')
      await store.ready?.()
      try {
        if (!needsAtomic || store.atomic) await run(new Bench(store))
      } finally {
        await store.close?.()
      }
    },
  }))
}
