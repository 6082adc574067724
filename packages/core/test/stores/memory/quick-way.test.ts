// The quick way decides what is common. (test/laws/05-one-truth holds its answers to those of Redis, which has two ways of its own.)
import { QuickWay } from '../../../src/stores/memory/quick-way.js'
import { variants } from '../../support/variants.js'
import { ask, part, setOf, storeAt } from './support.js'

/** Windows on the clock begin here: of a second, of five, and the hour in Kolkata. */
const START_MS = 1_769_862_600_000

afterEach(() => jest.restoreAllMocks())

test.each(variants)('$name: what is common is decided quickly, allowed and denied', (variant) => {
  const { store, clock } = storeAt(START_MS)
  const spy = jest.spyOn(QuickWay.prototype, 'decide')
  const set = setOf(variant.limit(20, 1000), variant.limit(27, 2000))
  for (const gap of [0, 1, 0, 300, ...Array<number>(12).fill(0), 1]) {
    clock.now += gap
    store.consume([ask(part('k', 2, set))])
  }
  store.peek([ask(part('k', 2, set))])
  const [first, ...rest] = spy.mock.results.map(({ value }) => value as unknown)
  expect([first, rest.includes(undefined), rest.length]).toEqual([undefined, false, 17])
})
