import { isOutcome, isRefundAnswer, createLimitSet, type Grant, type StoreRequest } from '../../src/store.js'

const set = createLimitSet('5/min', '9/h')
const used = [
  [
    { units: 2, ageUs: 9 },
    { units: 1, ageUs: 0 },
  ],
  [],
]
const order = {
  reports: [],
  wish: { id: 'lease-000001', most: 3, least: 1, share: 1, lengthUs: 500, lagUs: 0 },
}
const request = (grant: Grant): StoreRequest =>
  ({
    shard: 0,
    grant,
    order: grant === 'lease' ? order : undefined,
    parts: [
      { key: 'a', set: createLimitSet('5/min'), cost: 3, used: [[{ units: 4, ageUs: 0 }]] },
      { key: 'b', set, cost: 3, used },
    ],
  }) as StoreRequest
const state = { wait: 0, remaining: 4, reset: 60_000_000 }
const outcome = (...granted: unknown[]): object => ({
  at: 1,
  limits: granted.map((units) => ({ ...state, granted: units })),
})
const leased = (endsInUs: unknown, isKnown: unknown, ...granted: unknown[]): object => ({
  ...outcome(...granted),
  lease: { endsInUs, isKnown },
})
const unreadable = new Proxy(
  {},
  {
    get: () => {
      throw new Error('unreadable')
    },
  },
)

test.each<[what: string, grant: Grant, given: unknown]>([
  ['all', 'all', { at: 1, limits: [state, { ...state, wait: -1 }, { ...state, wait: 5 }] }],
  ['upTo, nothing', 'upTo', outcome(0, 0, 0)],
  ['upTo, the whole cost', 'upTo', outcome(3, 3, 3)],
  ['force, all', 'force', outcome(4, 3, 0)],
  ['force, less', 'force', outcome(0, 1, 0)],
  ['lease, all', 'lease', leased(500, true, 3, 3, 3)],
  ['lease, none', 'lease', leased(0, false, 0, 0, 0)],
  ['declare', 'declare', { at: 1, limits: [state, state, { ...state, slot: 7 }] }],
  ['release', 'release', { at: 1, limits: [state, state, { ...state, slot: 7 }] }],
  ['all, with the number of a slot', 'all', { at: 1, limits: [state, state, { ...state, slot: 7 }] }],
  ['all, beside leases', 'all', { at: 1, limits: [state, state, { ...state, leased: 2 }] }],
])('an outcome of %s', (_, grant, given) => {
  expect(isOutcome(given, request(grant))).toBe(true)
})

test.each<[what: string, grant: Grant, given: unknown]>([
  ['nothing', 'all', undefined],
  ['an error', 'all', new Error('down')],
  ['too few limits', 'all', { at: 1, limits: [state, state] }],
  ['too many limits', 'all', { at: 1, limits: [state, state, state, state] }],
  ['declare, too few limits', 'declare', { at: 1, limits: [state, state] }],
  ['a hole for a limit', 'all', { at: 1, limits: Array(3) }],
  ['no time', 'all', { limits: [state, state, state] }],
  ['a wait of -2', 'all', { at: 1, limits: [state, state, { ...state, wait: -2 }] }],
  ['half a unit remaining', 'all', { at: 1, limits: [state, state, { ...state, remaining: 0.5 }] }],
  ['a reset without end', 'all', { at: 1, limits: [state, state, { ...state, reset: Infinity }] }],
  ['what cannot be read', 'all', unreadable],
  ['upTo, without what was granted', 'upTo', { at: 1, limits: [state, state, state] }],
  ['upTo, different numbers', 'upTo', outcome(2, 2, 1)],
  ['upTo, more than was asked', 'upTo', outcome(4, 4, 4)],
  ['upTo, less than nothing', 'upTo', outcome(-1, -1, -1)],
  ['upTo, half a unit', 'upTo', outcome(0.5, 0.5, 0.5)],
  ['force, without what was granted', 'force', { at: 1, limits: [state, state, state] }],
  ['force, more than was used', 'force', outcome(4, 3, 1)],
  ['force, half a unit', 'force', outcome(0.5, 3, 0)],
  ['a slot without a number', 'all', { at: 1, limits: [state, state, { ...state, slot: Number.NaN }] }],
  ['a slot before the first', 'all', { at: 1, limits: [state, state, { ...state, slot: -1 }] }],
  ['half a unit on lease', 'all', { at: 1, limits: [state, state, { ...state, leased: 0.5 }] }],
  ['lease, without its end', 'lease', outcome(3, 3, 3)],
  ['lease, a longer one', 'lease', leased(501, true, 3, 3, 3)],
  ['lease, for half a µs', 'lease', leased(0.5, true, 3, 3, 3)],
  ['lease, over before it began', 'lease', leased(-1, true, 3, 3, 3)],
  ['lease, perhaps known', 'lease', leased(5, 1, 3, 3, 3)],
  ['lease, different numbers', 'lease', leased(5, true, 3, 3, 2)],
  ['lease, more than was asked', 'lease', leased(5, true, 4, 4, 4)],
])('no outcome: %s', (_, grant, given) => {
  expect(isOutcome(given, request(grant))).toBe(false)
})

describe('with a hold', () => {
  const reservation = {
    kind: 'reservation',
    id: 'hold-0000001',
    lengthUs: 64_000,
    slackUs: 0,
    most: 0,
  } as const
  const place = { ...reservation, kind: 'place', slackUs: 20 } as const
  const fits = [state, state, state]
  const held = (delayUs: unknown, endsInUs: unknown): object => ({
    at: 1,
    limits: fits,
    hold: { delayUs, endsInUs },
  })
  const denied = { at: 1, limits: [state, state, { ...state, wait: 5 }] }

  test.each<[what: string, hold: typeof reservation | typeof place, given: object, isOne: boolean]>([
    ['a reservation', reservation, held(0, 64_000), true],
    ['a reservation, 1/64 and 1 ms longer', reservation, held(0, 66_000), true],
    ['a reservation, longer still', reservation, held(0, 66_001), false],
    ['a reservation that is there later', reservation, held(1, 64_000), false],
    ['a place', place, held(5000, 5020), true],
    ['a place at the last moment', place, held(64_000, 64_020), true],
    ['a cost that was taken at once', place, held(0, 0), true],
    ['a place later than asked for', place, held(64_001, 64_021), false],
    ['a place with more slack', place, held(5000, 5021), false],
    ['a place that is over before its time', place, held(5000, 4999), false],
    ['half a µs', place, held(0.5, 20), false],
    ['an end of nothing', place, held(0, undefined), false],
    ['no hold', place, { at: 1, limits: fits }, false],
    ['a denial', place, denied, true],
    ['a denial with a hold', place, { ...denied, hold: { delayUs: 0, endsInUs: 0 } }, false],
  ])('%s', (_, hold, given, isOne) => {
    expect(isOutcome(given, { ...request('all'), hold } as StoreRequest)).toBe(isOne)
  })
})

test('the answer to a refund is true or false', () => {
  expect([true, false].every(isRefundAnswer)).toBe(true)
  expect([undefined, null, 1, 'true', new Error('down')].some(isRefundAnswer)).toBe(false)
})
