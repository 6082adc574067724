import { checkStore, type MaybePromise, type Store } from '@tollgate/core/store'
import { Bench, type Check, type PassTime } from './bench.js'
import { consumeChecks } from './consume-checks.js'
import { forceChecks } from './force-checks.js'
import { holdChecks } from './hold-checks.js'
import { keyChecks } from './key-checks.js'
import { leaseChecks } from './lease-checks.js'
import { placeChecks } from './place-checks.js'
import { planChecks } from './plan-checks.js'
import { refundChecks } from './refund-checks.js'
import { slotChecks } from './slot-checks.js'
import { slotTimeChecks } from './slot-time-checks.js'
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
  ...slotChecks.map((check) => ({ ...check, needsSlots: true })),
  ...slotTimeChecks.map((check) => ({ ...check, needsSlots: true, needsClock: true })),
]

export interface StoreContractOptions {
  /**
   * Sets the clock of a store that `make` made some ms ahead: it must go on from there. Default: checks that wait for long
   * are left out.
   */
  readonly passTime?: PassTime
}

/**
 * The requirements for every store, as checks for any test runner:
 *
 * ```ts
 * for (const { name, check } of storeContract(() => makeStore())) test(name, check)
 * ```
 *
 * Abilities that the store does not claim are not tested: checks of several keys pass if it is not `atomic`, those of
 * leases if it has no `leases`, of reservations and places if it has no `holds`, of requests in flight if it has no `slots`, and
 * only its `algorithms` are tried. Each check uses new keys, so all of them may use one server.
 *
 * @param make makes a store; called by each check, which closes the store at its end
 */
export function storeContract(
  make: () => MaybePromise<Store>,
  { passTime }: StoreContractOptions = {},
): readonly StoreCheck[] {
  return CHECKS.map(({ name, run, ...needs }) => ({
    name,
    check: async () => {
      const store = await make()
      checkStore(store, 'store')
      await store.ready?.()
      try {
        if (isAble(store, needs, passTime)) await run(new Bench(store, passTime))
      } finally {
        await store.close?.()
      }
    },
  }))
}

function isAble(store: Store, needs: Omit<Check, 'name' | 'run'>, passTime: PassTime | undefined): boolean {
  const { needsAtomic, needsLeases, needsHolds, needsSlots, needsClock } = needs
  const lacks = [
    needsAtomic && !store.atomic,
    needsLeases && !store.leases,
    needsHolds && !store.holds,
    needsSlots && !store.slots,
    needsClock && !passTime,
  ]
  return !lacks.includes(true)
}
