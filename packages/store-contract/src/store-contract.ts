import { AssertionError } from 'node:assert/strict'
import { atCaller, checkStore, ConfigError, type MaybePromise, type Store } from '@tollgate/core/store'
import { atOnceChecks } from './at-once-checks.js'
import { Bench, type Check } from './bench.js'
import { consumeChecks } from './consume-checks.js'
import { forceChecks } from './force-checks.js'
import { forceTimeChecks } from './force-time-checks.js'
import { holdChecks } from './hold-checks.js'
import { keyChecks } from './key-checks.js'
import { leaseChecks } from './lease-checks.js'
import { checkOptions, type StoreContractOptions } from './options.js'
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

const SLOTS = 'requests-in-flight'

const CHECKS: readonly Check[] = [
  ...consumeChecks,
  ...atOnceChecks,
  ...upToChecks,
  ...forceChecks,
  ...forceTimeChecks,
  ...refundChecks,
  ...planChecks,
  ...keyChecks,
  ...timeChecks,
  ...leaseChecks.map((check) => ({ ...check, needsLeases: true, section: 'leases' })),
  ...[...holdChecks, ...placeChecks].map((check) => ({
    ...check,
    needsHolds: true,
    section: 'reservations-and-places',
  })),
  ...slotChecks.map((check) => ({ ...check, needsSlots: true, section: SLOTS })),
  ...slotTimeChecks.map((check) => ({ ...check, needsSlots: true, needsClock: true, section: SLOTS })),
]

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
 * @param make makes a store, or a promise of one; called by each check, which closes the store at its end
 * @throws {ConfigError} when `make` is no function, or an option is wrong
 */
export function storeContract(
  make: () => MaybePromise<Store>,
  options: StoreContractOptions = {},
): readonly StoreCheck[] {
  atCaller(storeContract, () => {
    if (typeof make !== 'function')
      throw ConfigError.wrong('make', make, 'a function that makes a store: storeContract(() => yourStore())')
    checkOptions(options)
  })
  return CHECKS.map(({ name, run, section, ...needs }) => ({
    name,
    check: async () => {
      const store = await make()
      checkStore(store, 'store')
      await store.ready?.()
      try {
        if (isAble(store, needs, options)) await run(new Bench(store, options))
      } catch (error) {
        throw withPage(error, section)
      } finally {
        await store.close?.()
      }
    },
  }))
}

const PAGE = 'https://github.com/tollgate-js/tollgate/blob/main/docs/reference/store-contract.md'

/** Names the part of the contract that the store breaks. What the store itself throws stays as it is. */
function withPage(error: unknown, section = 'the-contract'): unknown {
  if (error instanceof AssertionError) error.message += ` (${PAGE}#${section})`
  return error
}

function isAble(
  store: Store,
  needs: Omit<Check, 'name' | 'run' | 'section'>,
  { passTime }: StoreContractOptions,
): boolean {
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
