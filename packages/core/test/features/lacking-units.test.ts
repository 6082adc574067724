import { lackingUnits } from '../../src/requests/request.js'
import { createLimitSet } from '../../src/plans/limit/limit.js'
import type { Grant } from '../../src/stores/contract.js'

const set = createLimitSet('10/min', '100/h')
const withSlots = createLimitSet('10/min', '5 concurrent')

/** What a store says of two limits: how long each denies, and what it has left. */
const told = (...limits: readonly (readonly [wait: number, remaining: number])[]) =>
  limits.map(([wait, remaining]) => ({ wait, remaining, reset: 0 }))

test.each<[what: string, grant: Grant, limits: ReturnType<typeof told>, lacking: number]>([
  ['nothing, where both fit', 'all', told([0, 5], [0, 9]), 0],
  ['what the limit that denies lacks', 'all', told([9, 3], [0, 9]), 2],
  ['the most that any lacks', 'all', told([9, 3], [9, 1]), 4],
  [
    'no units help where a limit denies that has enough, such as of reservations',
    'all',
    told([9, 5], [0, 9]),
    Infinity,
  ],
  ['one unit more, if as many as fit were taken', 'upTo', told([9, 0], [9, 3]), 1],
  ['nothing, if more fits by now', 'upTo', told([9, 1], [9, 3]), 0],
])('%s', (_, grant, limits, lacking) => {
  expect(lackingUnits({ key: 'acme', set, cost: 5 }, grant, limits)).toBe(lacking)
})

test.each<[grant: Grant, lacking: number]>([
  ['all', Infinity],
  ['upTo', 1],
])('no units help a request that needs a slot; with %s it has it already', (grant, lacking) => {
  const part = { key: 'acme', set: withSlots, cost: 5 }
  expect(lackingUnits(part, grant, told([9, 0], [1000, 0]))).toBe(lacking)
})
