// All that processes, a store and a network can do, in small: at every point of it the laws of requests in flight hold. And the
// checker sees each rule that is broken on purpose.
import { isDeep, cases } from '@tollgate/testing'
import { check, randomOf, replay, told, walk } from '../../support/checker.js'
import { RARE, type Flaw, type Rare, type WorldOptions } from './checker-options.js'
import { World } from './checker-world.js'

jest.mock('../../../src/base/timers.js', () => ({
  ...jest.requireActual<object>('../../../src/base/timers.js'),
  ...jest.requireActual<{ mockTimers: object }>('./checker-time.js').mockTimers,
}))

/** Things to try of each case, breadth-first. */
const STEPS = cases(100, 2000)
const DEPTH = 30
/** Ways through, drawn at random, of each case; and how many things happen on them. */
const WALKS = cases(25, 1000)
const LENGTHS = [10, 16, 24, 40, 60]
/** Within so many ways, each flaw must be seen. */
const MOST_WALKS = 20_000

type Case = Omit<WorldOptions, 'rare'>
const ASKS = ['one key', 'two keys', 'two steps'] as const
const CASES = ASKS.flatMap((asks): (readonly [string, Case])[] =>
  [1, 2, 3].map((quota) => [
    `${asks}, ${quota} at a time`,
    { asks, quota, most: 3, queues: quota === 3, forgetsDenied: quota === 2 },
  ]),
)

describe('nothing that can happen breaks a law', () => {
  test.each(CASES)('%s', (_, options) => {
    for (const rare of [0, 1]) {
      const found = check(() => new World({ ...options, atOnce: [1], rare }), {
        depth: DEPTH,
        steps: STEPS,
      })
      expect(found.violation && told(found)).toBeUndefined()
      expect(found.states).toBeGreaterThan(STEPS / 4)
    }
  })
})

describe('nor does it on long ways', () => {
  test.each(CASES)('%s', (_, options) => {
    for (let seed = 0; seed < WALKS; seed += 1) {
      // Every second way has one kind of unlikely things, which happen the more often.
      const kinds = seed % 2 === 0 ? undefined : [RARE[(seed >> 1) % RARE.length] as Rare]
      const rare = seed % 6
      const length = LENGTHS[seed % LENGTHS.length] as number
      const found = walk(new World({ ...options, rare, kinds }), length, randomOf(seed))
      expect(found.violation && `seed ${seed}: ${told(found)}`).toBeUndefined()
    }
  })
})

describe('ways that are seldom drawn', () => {
  test.each([
    [
      ...['a later answer is heard first', 2],
      'ask 1, deliver 0, ask 1, deliver 0, hear 1, ask 1, deliver 0, hear 0, hear 0',
    ],
    [
      ...['an older request is denied after a newer one was let in, and is heard first', 2],
      'ask 1, ask 1, deliver 1, hear 0, release 1, ask 1, deliver 1, deliver 0, hear 1, hear 0',
    ],
    [
      ...['an older request is let in after a report, and is heard first', 3],
      'ask 0, deliver 0, hear 0, ask 0, release 0, turn 0, deliver 1, deliver 0, hear 1, hear 0',
    ],
    [
      ...['an older request is denied after a report, and is heard first', 1],
      'ask 0, deliver 0, hear 0, ask 0, release 0, turn 0, deliver 1, ask 1, deliver 1, deliver 0, hear 2, hear 0',
    ],
  ] as [string, number, string][])('%s', (_, quota, way) => {
    const world = replay(new World({ quota, asks: 'one key', most: 3, rare: 0 }), way.split(', '), true)
    expect(() => world.end()).not.toThrow()
  })
})

// Only in the deep run, since it takes many ways to see all of them.
if (isDeep)
  describe('the checker sees a process that', () => {
    test.each<[flaw: Flaw, laws: string[], kinds: Rare[]]>([
      ['tells the highest number in place of how many', ['law 1'], []],
      ['tells of one less than it holds', ['law 1', 'a leak'], []],
      ['hears nothing that is late', ['a leak'], ['refuse']],
      ['loses its releases', ['a leak'], []],
      ['renews nothing', ['renewal'], []],
      ['lets one more in', ['law 1'], []],
      ['keeps what nobody needs', ['law 8'], []],
    ])(
      '%s',
      (flaw, laws, kinds) => {
        const options = { quota: 2, asks: 'one key', most: 3, rare: kinds.length, kinds, flaw } as const
        for (let seed = 0; seed < MOST_WALKS; seed += 1) {
          const { violation } = walk(new World(options), 24, randomOf(seed))
          if (violation) return expect(laws).toContain(violation.law)
        }
        throw new Error(`not seen in ${MOST_WALKS} ways`)
      },
      600_000,
    )
  })
