import { judge, type Allowed, type Evidence } from '../src/cluster/judge.ts'
import { COUNTERS, nameOf, namesIn, QUOTA } from '../src/cluster/subjects.ts'

const START = 1_700_000_000_000
const LOSS = { from: START + 100_000, to: START + 103_000 }
const REQUEST = { organisation: 0, user: 0, isExport: true }

/** Requests 100 ms apart, from `afterMs` after the start. */
const allowed = (count: number, afterMs = 0, source = 'store'): Allowed[] =>
  Array.from({ length: count }, (_, i) => {
    const from = START + afterMs + i * 100
    return { ...REQUEST, from, to: from + 1, source }
  })

/** The counts of a store that works: never more than a quota. */
const counted = (all: readonly Allowed[], more = 0): Map<string, number> => {
  const names = all.flatMap(namesIn)
  const used = new Map(
    COUNTERS.map((counter) => {
      const name = nameOf(counter)
      return [name, Math.min(QUOTA[counter.kind], names.filter((one) => one === name).length)]
    }),
  )
  used.set('user-0-0', (used.get('user-0-0') ?? 0) + more)
  return used
}

const violations = (all: readonly Allowed[], given: Partial<Evidence> = {}): readonly string[] =>
  judge({ allowed: all, used: counted(all), lost: new Set(), loss: LOSS, processes: 4, ...given }).violations

const LOST = new Set(['org-0', 'org-0 export', 'user-0-0'])

test('an allowed request must be in every counter it names', () => {
  const all = allowed(100)
  expect(violations(all)).toEqual([])
  expect(violations(all, { used: counted(all, -1) })).toEqual([
    'user-0-0: 100 allowed, 99 counted: 1 for free',
  ])
  expect(violations(all, { used: counted(all, 1) })).toEqual(['user-0-0: 100 allowed, 101 counted'])
  expect(violations(all, { used: new Map() })).toContain('user-0-0: the store did not say what is used')
})

test('a lost shard may have forgotten what was before, but nothing after', () => {
  const before = allowed(100)
  const after = allowed(50, 110_000)
  const all = [...before, ...after]
  expect(violations(all, { used: counted(after), lost: LOST })).toEqual([])
  expect(violations(all, { used: counted(after) })).toHaveLength(3)
  expect(violations(all, { used: counted(after, -1), lost: LOST })).toEqual([
    'user-0-0: 50 allowed, 49 counted: 1 for free',
  ])
})

test('windows stay within their bounds, plus one quota after a loss, plus the shares of local limiters', () => {
  const names = (all: readonly string[]): unknown[] => [...new Set(all.map((what) => what.split(':')[0]))]
  expect(names(violations(allowed(201)))).toEqual(['org-0 export', 'user-0-0'])
  const after = allowed(200, 110_000)
  const twice = [...allowed(200), ...after]
  expect(violations(twice, { used: counted(after), lost: LOST })).toEqual([])
  expect(names(violations(twice))).toEqual(['org-0 export', 'user-0-0'])
  const shares = [...allowed(200), ...allowed(200, 30_000, 'local')]
  expect(violations(shares)).toEqual([])
  expect(names(violations([...shares, ...allowed(1, 60_000, 'local')]))).toEqual(['org-0 export', 'user-0-0'])
})
