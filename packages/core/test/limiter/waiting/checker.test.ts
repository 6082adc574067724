// All that processes with requests in line, a store and a network can do, in small: at every point of it the laws hold. And the
// checker sees each rule that is broken on purpose.
import { isDeep, cases } from '@tollgate/testing'
import { toLimitSet, type LimitSet } from '../../../src/plans/limit/limit-set.js'
import { parseLimit, type LimitOptions } from '../../../src/plans/limit/limit.js'
import { checkSlowly, randomOf, told, walkSlowly } from '../../support/checker.js'
import type { Flaw, Rare, WorldOptions } from './checker-options.js'
import { WaitingWorld } from './checker-world.js'

const TERMS = { delayUs: 300_000, slackUs: 100_000, most: 4 }
/** Things to try of each case: with more, the checker looks further. */
const STEPS = Number(process.env['TOLLGATE_CHECKER_STEPS'] ?? cases(100, 1000))
/** Ways through, drawn at random, of each case. */
const WALKS = Number(process.env['TOLLGATE_CHECKER_WALKS'] ?? cases(10, 300))
const isTold = process.env['TOLLGATE_CHECKER_STEPS'] !== undefined
/** The fewer unlikely things, the more of the others can be tried. */
const RARE_THINGS = [0, 1, 2]
/** Within so many ways, each flaw must be seen. */
const MOST_WALKS = 2000

const line = (...limits: readonly LimitOptions[]): LimitSet =>
  toLimitSet(
    limits.map((limit, i) => parseLimit(limit, `limits[${i}]`)),
    { wait: TERMS },
  )

const limit = (algorithm: string, quota: number, window: string, more: object = {}): LimitOptions =>
  ({ quota, window, algorithm, name: `${algorithm} ${window}`, ...more }) as LimitOptions

const CASES: readonly (readonly [name: string, set: LimitSet])[] = [
  ['sliding-log', line(limit('sliding-log', 2, '400ms'))],
  ['token-bucket', line(limit('token-bucket', 4, '400ms', { burst: 1 }))],
  ['fixed-window', line(limit('fixed-window', 2, '400ms'))],
  ['sliding-window', line(limit('sliding-window', 2, '400ms'))],
  ['a fast bucket', line(limit('token-bucket', 10, '400ms', { burst: 1 }))],
  ['a burst', line(limit('token-bucket', 5, '600ms', { burst: 2 }))],
  [
    'two limits',
    line(
      limit('token-bucket', 4, '400ms', { burst: 2 }),
      limit('sliding-log', 3, '500ms', { precision: '20ms' }),
    ),
  ],
]

const worldOf = (set: LimitSet, options: Partial<WorldOptions>) => () =>
  new WaitingWorld({ set, processes: 2, rare: 0, ...options })

describe('nothing that can happen breaks a law', () => {
  test.each(CASES)('%s', async (name, set) => {
    for (const rare of RARE_THINGS) {
      const found = await checkSlowly(worldOf(set, { rare }), { depth: 40, steps: STEPS })
      if (isTold) process.stdout.write(`${name}, ${rare} unlikely: ${told(found)}\n`)
      expect(found.violation && told(found)).toBeUndefined()
      expect(found.states).toBeGreaterThan(STEPS / 6)
    }
  })
})

describe('no law is broken on long ways', () => {
  test.each(CASES)('%s', async (_, set) => {
    for (let seed = 0; seed < WALKS; seed += 1) {
      const found = await walkSlowly(worldOf(set, { rare: 8 })(), 80, randomOf(seed))
      expect(found.violation && `seed ${seed}: ${told(found)}`).toBeUndefined()
    }
  })
})

describe('a store whose clock goes back keeps nobody waiting', () => {
  test.each(CASES)('%s', async (_, set) => {
    const make = worldOf(set, { rare: 3, kinds: ['hour', 'back'] })
    for (let seed = 0; seed < WALKS; seed += 1) {
      const found = await walkSlowly(make(), 120, randomOf(seed))
      expect(found.violation && `seed ${seed}: ${told(found)}`).toBeUndefined()
    }
  })
})

test('a request whose place ended while its process was held up keeps its seat until it is answered', async () => {
  const world = worldOf(line(limit('sliding-log', 2, '400ms')), { rare: 1, kinds: ['pause'] })()
  const ticks = (many: number): string[] => Array.from({ length: many }, () => 'tick')
  const come = ['visit 0', 'visit 0', ...ticks(3), 'visit 0']
  for (const action of [
    ...come,
    'pause 0',
    ...ticks(8),
    'resume 0',
    'deliver 0',
    'hear 0',
    'deliver 0',
    'hear 0',
  ]) {
    expect(await world.do(action)).toBe(true)
    world.judge()
  }
  await world.end()
})

// Only in the deep run, since it takes many ways to see all of them.
if (isDeep)
  describe('the checker sees a broken rule', () => {
    const [log, bucket, fast] = ['sliding-log', 'token-bucket', 'a fast bucket'].map(
      (wanted) => CASES.find(([name]) => name === wanted)?.[1],
    ) as [LimitSet, LimitSet, LimitSet]
    test.each<[flaw: Flaw, laws: string[], kinds: Rare[], set: LimitSet]>([
      ['tells a shorter delay', ['its time'], [], log],
      ['tells a later end', ['its time'], ['pause'], log],
      ['tells when it was heard', ['in order'], [], fast],
      ['forgets its timers', ['an end'], [], log],
      ['loses what those who leave report', ['units back'], [], log],
      ['places are not held', ['a place', 'law 1'], [], log],
      ['a booking moves a place', ['a place'], [], bucket],
      ['repeats with another id', ['law 11'], ['again'], log],
      ['gives back twice', ['law 1'], ['refund'], log],
      ['time stands still in the end', ['law 8'], [], log],
    ])(
      '%s',
      async (flaw, laws, kinds, set) => {
        const make = worldOf(set, { rare: 6 * kinds.length, kinds, flaw })
        for (let seed = 0; seed < MOST_WALKS; seed += 1) {
          const { violation } = await walkSlowly(make(), 60, randomOf(seed))
          if (violation) return expect(laws).toContain(violation.law)
        }
        throw new Error('not seen')
      },
      600_000,
    )
  })
