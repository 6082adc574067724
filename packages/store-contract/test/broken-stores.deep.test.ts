// The store contract must be able to fail: stores that are broken on purpose, and the checks that must find each.
import { memoryStore, type Store, type StoreRequest } from '@tollgate/core/store'
import { Clocks } from '@tollgate/testing'
import { storeContract } from '../src/index.js'
import { faultsOfAccounts } from './faults/accounts.js'
import { faultsOfBillingDays } from './faults/billing-days.js'
import { faultsOfBlocks } from './faults/blocks.js'
import { faultsOfDeciding } from './faults/deciding.js'
import type { Broken } from './faults/fault.js'
import { faultsOfForceAndRefunds } from './faults/force-and-refunds.js'
import { faultsOfHolds } from './faults/holds.js'
import { faultsOfKeysAndAnswers } from './faults/keys-and-answers.js'
import { faultsOfLeases } from './faults/leases.js'
import { faultsOfObservers } from './faults/observers.js'
import { faultsOfOverage } from './faults/overage.js'
import { faultsOfBoard } from './faults/board.js'
import { faultsOfRules } from './faults/rules.js'
import { faultsOfSlots } from './faults/slots.js'

const FAULTS = [
  ...faultsOfDeciding,
  ...faultsOfForceAndRefunds,
  ...faultsOfKeysAndAnswers,
  ...faultsOfLeases,
  ...faultsOfHolds,
  ...faultsOfSlots,
  ...faultsOfBlocks,
  ...faultsOfObservers,
  ...faultsOfOverage,
  ...faultsOfAccounts,
  ...faultsOfBillingDays,
  ...faultsOfRules,
  ...faultsOfBoard,
]

function brokenBy(make: Broken, now: () => number): Store {
  const inner = memoryStore({ now })
  return {
    synchronous: true,
    atomic: true,
    leases: true,
    holds: true,
    slots: true,
    blocks: true,
    observers: true,
    overage: true,
    accounts: true,
    billingDays: true,
    clock: 'process',
    consume: (batch) => inner.consume(batch),
    peek: (batch) => inner.peek(batch),
    refund: (batch) => inner.refund(batch),
    reset: (keys, shard) => inner.reset(keys, shard),
    ...(inner.rules && { rules: inner.rules }),
    ...(inner.board && { board: inner.board }),
    ...make(inner),
  }
}

const AT_ONCE = 6
const MOST_TRIES = 40
const known = new Map<Broken, Promise<string[]>>()

/** The names of the checks that fail for a broken store. Each store is checked only once. */
function failing(make: Broken): Promise<string[]> {
  const names = known.get(make) ?? failingChecks(make)
  known.set(make, names)
  return names
}

async function failingChecks(make: Broken, of = /^/): Promise<string[]> {
  const { make: withClock, passTime } = new Clocks()
  const all = storeContract(() => withClock((now) => brokenBy(make, now)), { passTime })
  const checks = all.filter(({ name }) => of.test(name))
  const names = await Promise.all(
    checks.map(({ name, check }) =>
      check().then(
        () => [],
        () => [name],
      ),
    ),
  )
  return names.flat()
}

test('a good store inside the wrapper passes', async () => {
  expect(await failing(() => ({}))).toEqual([])
})

// Checks mostly wait, so several stores are checked at a time.
beforeAll(async () => {
  for (let from = 0; from < FAULTS.length; from += AT_ONCE) {
    await Promise.all(FAULTS.slice(from, from + AT_ONCE).map(([, make]) => failing(make)))
  }
})

test.each(FAULTS)('the checks find that %s', async (_, make, found) => {
  const names = await failing(make)
  for (const words of found) {
    // Beside others, and on a busy machine, a check can come too late to see what is too early. Then it runs again, alone.
    for (let left = MOST_TRIES; !names.some((name) => words.test(name)) && left > 0; left -= 1) {
      names.push(...(await failingChecks(make, words)))
    }
    expect(names).toContainEqual(expect.stringMatching(words))
  }
})

test('every check is failed by some broken store', async () => {
  const failed = new Set((await Promise.all(FAULTS.map(([, make]) => failing(make)))).flat())
  const never = storeContract(() => memoryStore())
    .map(({ name }) => name)
    .filter((name) => !failed.has(name))
  expect(never).toEqual([])
})

test('abilities that a store does not claim are not tested', async () => {
  const seen: StoreRequest[] = []
  const names = await failing((inner) => ({
    ...({ rules: undefined, board: undefined } as object),
    atomic: false,
    leases: false,
    holds: false,
    slots: false,
    blocks: false,
    accounts: false,
    billingDays: false,
    algorithms: ['token-bucket'],
    consume: (batch) => {
      seen.push(...batch)
      return inner.consume(batch)
    },
  }))
  expect(names).toEqual([])
  const unclaimed = seen.filter(
    ({ parts, grant, hold }) => parts.length !== 1 || grant === 'lease' || grant === 'account' || hold,
  )
  expect(unclaimed).toEqual([])
  const algorithms = seen.flatMap(({ parts }) =>
    parts.flatMap(({ set }) => set.limits.map(({ algorithm }) => algorithm)),
  )
  expect(new Set(algorithms)).toEqual(new Set(['token-bucket']))
})
