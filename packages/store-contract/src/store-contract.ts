import { AssertionError } from 'node:assert/strict'
import {
  atCaller,
  checkStore,
  ConfigError,
  implementations,
  type MaybePromise,
  type Store,
} from '@tollgate/core/store'
import { accountChecks, accountTimeChecks } from './beside/account-checks.js'
import { usageChecks } from './beside/usage-checks.js'
import { atOnceChecks } from './counting/at-once-checks.js'
import { Bench, type Check, type Need } from './bench.js'
import { billingChecks } from './billing-checks.js'
import { blockChecks, blockTimeChecks } from './block-checks.js'
import { boardChecks, boardTimeChecks } from './board-checks.js'
import { consumeChecks } from './counting/consume-checks.js'
import { forceChecks } from './counting/force-checks.js'
import { forceTimeChecks } from './counting/force-time-checks.js'
import { holdChecks } from './beside/hold-checks.js'
import { keyChecks } from './counting/key-checks.js'
import { leaseChecks } from './beside/lease-checks.js'
import { checkOptions, type StoreContractOptions } from './options.js'
import { placeChecks } from './beside/place-checks.js'
import { planChecks } from './counting/plan-checks.js'
import { observerChecks } from './observer-checks.js'
import { overageChecks } from './overage-checks.js'
import { refundChecks } from './counting/refund-checks.js'
import { ruleChecks, ruleTimeChecks } from './rule-checks.js'
import { slotChecks } from './slots/slot-checks.js'
import { slotTimeChecks } from './slots/slot-time-checks.js'
import { timeChecks } from './counting/time-checks.js'
import { topUpChecks } from './beside/top-up-checks.js'
import { upToChecks } from './counting/up-to-checks.js'

/** A check for a test runner: a name, and a function that rejects when the store fails it. */
export interface StoreCheck {
  readonly name: string
  readonly check: () => Promise<void>
}

/** Checks of one section, which need an ability more than they say themselves. */
function about(section: string, needs: readonly Need[], checks: readonly Check[]): Check[] {
  return checks.map((check) => ({ ...check, needs: [...needs, ...(check.needs ?? [])], section }))
}

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
  ...about('leases', ['leases'], leaseChecks),
  ...about('reservations-and-places', ['holds'], [...holdChecks, ...placeChecks]),
  ...about('requests-in-flight', ['slots'], slotChecks),
  ...about('requests-in-flight', ['slots', 'passTime'], slotTimeChecks),
  ...about('denials-and-blocks', ['blocks'], blockChecks),
  ...about('denials-and-blocks', ['blocks', 'passTime'], blockTimeChecks),
  ...about('limits-that-observe', ['observers'], observerChecks),
  ...about('limits-with-overage', ['overage'], overageChecks),
  ...about('accounts', ['accounts'], [...accountChecks, ...topUpChecks]),
  ...about('accounts', ['accounts', 'overage'], usageChecks),
  ...about('accounts', ['accounts', 'passTime'], accountTimeChecks),
  ...about('billing-days', ['billingDays', 'passTime'], billingChecks),
  ...about('rules', ['rules'], ruleChecks),
  ...about('rules', ['rules', 'passTime'], ruleTimeChecks),
  ...about('board', ['board'], boardChecks),
  ...about('board', ['board', 'passTime'], boardTimeChecks),
]

/**
 * The requirements for every store, as checks for any test runner:
 *
 * ```ts
 * for (const { name, check } of storeContract(() => makeStore())) test(name, check)
 * ```
 *
 * Abilities that the store does not claim are not tested, such as `leases`, and only its `algorithms` are tried. Each check uses new keys,
 * so all of them may use one server.
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
  return CHECKS.map(({ name, run, section, needs = [] }) => ({
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

function isAble(store: Store, needs: readonly Need[], { passTime }: StoreContractOptions): boolean {
  return needs.every((need) => {
    if (need === 'passTime') return passTime
    return store[need] && (need !== 'overage' || countsBeyond(store))
  })
}

/** Whether one of its algorithms can count beyond a quota. */
function countsBeyond({ algorithms }: Store): boolean {
  return !algorithms || algorithms.some((name) => implementations[name].over)
}
