// All that two processes, a store and a network can do, in small: at every point of it the laws hold. And the checker sees
// each rule that is broken on purpose.
import { isDeep, cases } from '@tollgate/testing'
import { type LimitSet, toLimitSet } from '../../../src/plans/limit/limit-set.js'
import { parseLimit, type LimitOptions } from '../../../src/plans/limit/limit.js'
import { check, randomOf, replay, told, walk } from '../../support/checker.js'
import type { Flaw, Rare, WorldOptions } from './checker-options.js'
import { World } from './checker-world.js'

const WINDOW = '80ms'
const TERMS = { lengthUs: 20_000, share: 1, lagUs: 0 }
/** Things to try of each case: with more, the checker looks further. */
const STEPS = Number(process.env['TOLLGATE_CHECKER_STEPS'] ?? cases(100, 1500))
/** Ways through, drawn at random, of each case. */
const WALKS = Number(process.env['TOLLGATE_CHECKER_WALKS'] ?? cases(4, 60))
const DEPTH = Number(process.env['TOLLGATE_CHECKER_DEPTH'] ?? 30)
const isTold = process.env['TOLLGATE_CHECKER_STEPS'] !== undefined
/** The fewer unlikely things, the more of the others can be tried. */
const RARE_THINGS = [0, 1, 2]
/** Within so many ways, each flaw must be seen. */
const MOST_WALKS = 20_000

const leased = (limits: readonly LimitOptions[], terms = TERMS): LimitSet =>
  toLimitSet(
    limits.map((limit, i) => parseLimit(limit, `limits[${i}]`)),
    { lease: terms },
  )

const limit = (algorithm: string, quota: number, window = WINDOW): LimitOptions =>
  ({ quota, window, algorithm, name: `${algorithm} ${window}` }) as LimitOptions

const ALGORITHMS = ['sliding-log', 'token-bucket', 'fixed-window', 'sliding-window']

interface Case {
  readonly name: string
  readonly options: WorldOptions
}

function caseOf(name: string, make: (quota: number) => LimitSet): Case {
  return { name, options: { sets: [make(6), make(4)], unitsPerMs: 0.1, rare: 0 } }
}

/** Ends of leases that are no steps of the clock, and other limits. */
const UNEVEN = { lengthUs: 13_000, share: 0.7, lagUs: 0 }
const MORE_CASES: readonly Case[] = [
  caseOf('slots', (quota) => leased([{ ...limit('sliding-log', quota + 4), precision: '10ms' }], UNEVEN)),
  caseOf('a burst', (quota) => leased([{ ...limit('token-bucket', quota), burst: 9 }], UNEVEN)),
  caseOf('three kinds', (quota) =>
    leased(
      [
        limit('sliding-window', quota + 3),
        limit('token-bucket', quota + 1, '50ms'),
        limit('sliding-log', quota + 6, '160ms'),
      ],
      { ...UNEVEN, lengthUs: 25_000 },
    ),
  ),
]

const CASES: readonly Case[] = [
  ...ALGORITHMS.map((name) => caseOf(name, (quota) => leased([limit(name, quota)]))),
  ...ALGORITHMS.map((name) =>
    caseOf(`${name}, two limits`, (quota) => leased([limit(name, quota - 1, '50ms'), limit(name, quota)])),
  ),
  caseOf('to another plan', (quota) =>
    leased([quota === 6 ? limit('sliding-log', 6) : limit('token-bucket', 5, '50ms')]),
  ),
  caseOf('to one limit more', (quota) =>
    leased(
      quota === 6 ? [limit('sliding-log', 6)] : [limit('sliding-log', 6), limit('fixed-window', 4, '50ms')],
    ),
  ),
  caseOf('smooth', (quota) => leased([limit('token-bucket', quota)], { ...TERMS, lagUs: 20_000 })),
]

describe('nothing that can happen breaks a law', () => {
  test.each(CASES)('$name', ({ name, options }) => {
    for (const rare of RARE_THINGS) {
      const found = check(() => new World({ ...options, rare, atOnce: [1] }), {
        depth: DEPTH,
        steps: STEPS,
      })
      if (isTold) process.stdout.write(`${name}, ${rare} unlikely: ${told(found)}\n`)
      expect(found.violation && told(found)).toBeUndefined()
      expect(found.states).toBeGreaterThan(STEPS / 4)
    }
  })
})

describe('the store answers as the reference does, and no law is broken on long ways', () => {
  test.each([...CASES, ...MORE_CASES])('$name', ({ options }) => {
    for (let seed = 0; seed < WALKS; seed += 1) {
      const found = walk(new World({ ...options, rare: 12, isCompared: true }), 60, randomOf(seed))
      expect(found.violation && `seed ${seed}: ${told(found)}`).toBeUndefined()
    }
  })
})

test('a unit of a lease that had ended before its report came is not given back: others may have used units then', () => {
  const set = leased([limit('sliding-log', 6)])
  const way = [
    ...['renew 0', 'ask 0', 'ask 0', 'ask 0', 'send 0', 'tick', 'tick', 'tick', 'ask 1', 'ask 1', 'ask 1'],
    ...['deliver 0', 'hear 0', 'refund 1', ...Array.from({ length: 7 }, () => 'tick')],
    ...Array.from({ length: 4 }, () => 'ask 1'),
  ]
  const options = { sets: [set, set], unitsPerMs: 0.1, rare: 1 } as const
  expect(() => replay(new World(options), way, true)).not.toThrow()
})

// Only in the deep run, since it takes many ways to see all of them.
if (isDeep)
  describe('the checker sees', () => {
    const log = leased([limit('sliding-log', 6)])
    // What was counted too early has drained soon.
    const bucket = leased([limit('token-bucket', 6)])
    test.each<[flaw: Flaw, laws: string[], kinds: Rare[]]>([
      ['serves after the end', ['law 1'], []],
      ['reports too little', ['law 1'], []],
      ['leases are not counted', ['on lease', 'law 1'], []],
      ['an end is not counted', ['on lease', 'law 1'], []],
      ['repeats with another id', ['law 11'], ['again']],
      ['refunds twice', ['law 1'], ['refund']],
      ['a denial takes', ['law 2'], []],
      ['tells what is on lease', ['law 3'], []],
      ['tells a shorter wait', ['law 4'], []],
      ['time stands still in the end', ['law 8'], []],
    ])(
      'when it %s',
      (flaw, laws, kinds) => {
        const set = flaw === 'serves after the end' ? bucket : log
        const options = { sets: [set, set], unitsPerMs: 0.1, rare: 6 * kinds.length, kinds, flaw } as const
        const near = check(() => new World(options), { depth: 3, steps: STEPS })
        for (let seed = 0, { violation } = near; seed < MOST_WALKS && !violation; seed += 1) {
          violation = walk(new World(options), 60, randomOf(seed)).violation
          if (violation) return expect(laws).toContain(violation.law)
        }
        expect(laws).toContain(near.violation?.law)
      },
      600_000,
    )
  })
