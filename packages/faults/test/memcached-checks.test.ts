// What differs on Memcached in how a run is judged.
import type { Entry } from '../src/application.ts'
import { violationsOf } from '../src/checks.ts'
import { EVERY_CHECK, FLOODING, GOOD, LEASED, TENANTS } from '../src/settings.ts'
import { MEMCACHED } from '../src/stores/memcached.ts'
import { planOf } from '../src/stores/store.ts'
import { BEGAN, entry, RETURNED, runWith, wellEntries, type Change } from './good-run.ts'

const quota = planOf(MEMCACHED, FLOODING)?.quota ?? 0
/** Two quotas, but one unit. */
const most = 2 * quota - 1
const calm = wellEntries.filter(({ who }) => who !== LEASED && who !== FLOODING)
/** So many units of the flooding tenant, evenly in this time, and none besides. */
const within = (units: number, ms: number): Entry[] => [
  ...calm,
  ...Array.from({ length: units }, (_, i) =>
    entry(FLOODING, BEGAN + 900 + (i * ms) / (units - 1), { ms: 0 }),
  ),
]
const forgets = { name: 'killed', forgets: true }
/** Of two servers: acme's lives. */
const half = calm.map((each) =>
  each.who === 'acme' && each.at >= BEGAN && each.at < RETURNED ? { ...each, source: 'store' } : each,
)
const partial = { name: 'one of two servers killed', isPartial: true, sparesSome: true }
const told = (given: Change): string[] => violationsOf(runWith({ store: MEMCACHED, ...given }), EVERY_CHECK)

test('nobody has leases, and the flooding tenant is the only one with a small plan', () => {
  expect(planOf(MEMCACHED, LEASED)).toBeUndefined()
  expect(GOOD.map((who) => TENANTS[who]?.plan)).toEqual(['large', 'large', 'large'])
})

test.each<[what: string, given: Change]>([
  ['just under two quotas in a window, less what clocks may differ', { entries: within(most, 700) }],
  ['more of them in longer', { entries: within(most + 1, 760) }],
  ['as much again where counts were lost', { fault: forgets, entries: within(2 * most, 700) }],
  [
    'losses that the limiter reported',
    { fault: { name: 'full', evicts: true }, evicted: 1, entries: within(1, 2) },
  ],
  ['a store that goes on for some', { fault: partial, entries: half }],
])('allowed: %s', (_, given) => {
  expect(told(given)).toEqual([])
})

test.each<[what: string, given: Change, text: string]>([
  [
    'two quotas in a window',
    { entries: within(most + 1, 740) },
    `no more than the plan: flooding got ${most + 1} in a window by the store, bound ${most}`,
  ],
  [
    'more than a loss of counts explains',
    { fault: forgets, entries: within(2 * most + 1, 700) },
    `no more than the plan: flooding got ${2 * most + 1} in a window by the store, bound ${2 * most}`,
  ],
  [
    'a store that was not made to forget',
    { fault: { name: 'full', evicts: true }, entries: within(1, 2) },
    'losses are reported: the limiter reported no loss',
  ],
  [
    'a server that takes the other one with it',
    { fault: partial, entries: calm },
    'the others go on: the store decided for no tenant',
  ],
  [
    'a server that the other one takes with it for a time',
    {
      fault: partial,
      entries: half.map((each) =>
        each.who === 'acme' && each.at >= RETURNED - 500 && each.at < RETURNED
          ? { ...each, source: 'open' }
          : each,
      ),
    },
    'the others go on: the store made only 72 % of the decisions for acme',
  ],
  [
    'a server whose death nobody met',
    {
      fault: partial,
      entries: calm.map((each) => (each.source === 'open' ? { ...each, source: 'store' } : each)),
    },
    'the others go on: it affected no tenant',
  ],
])('a violation: %s', (_, given, text) => {
  expect(told(given)).toEqual([expect.stringContaining(text)])
})
