import { compilePlan } from '../../src/plans/plan.js'
import type { LimitInput } from '../../src/index.js'
import type { Part, Request } from '../../src/requests/request.js'
import { stepsOf } from '../../src/requests/steps.js'

const partOf = (key: string, limit: LimitInput | LimitInput[], shard = 0): Part => {
  const plan = compilePlan(key, limit, 'limit')
  const { set, limits } = plan
  if (!set) throw new Error('unlimited')
  return {
    key,
    set,
    cost: 2,
    subject: { id: key },
    limits,
    planName: undefined,
    place: undefined,
    onStoreFailure: undefined,
    shard,
  }
}
const requestOf = (...parts: Part[]): Request => ({
  subject: { id: 'payer' },
  plan: compilePlan('payer', '1/min', 'limit'),
  cost: 2,
  parts,
  limits: parts.flatMap(({ limits }) => limits),
  shard: parts[0]?.shard ?? 0,
  grant: 'all',
})
const keysOf = (request: Request, isAtomic: boolean): string[] | undefined =>
  stepsOf(request, isAtomic)?.map(({ parts }) => parts.map(({ key }) => key).join('+'))

test('a request that fits one step is not split', () => {
  expect(keysOf(requestOf(), false)).toBeUndefined()
  expect(keysOf(requestOf(partOf('a', '5/min')), false)).toBeUndefined()
  expect(keysOf(requestOf(partOf('a', '5/min', 3), partOf('b', '2/min', 3)), true)).toBeUndefined()
})

test('in an atomic store, a step has the parts of one shard; in another, one part', () => {
  const request = requestOf(partOf('a', '5/min', 1), partOf('b', '9/min', 2), partOf('c', '7/min', 1))
  expect(keysOf(request, true)).toEqual(['a+c', 'b'])
  expect(keysOf(request, false)).toEqual(['a', 'c', 'b'])
})

test('the narrowest step comes first, by how much its tightest limit gives at once', () => {
  const parts = [
    partOf('wide', '1000/h', 1),
    partOf('burst', '500/s burst 3', 2),
    partOf('two', ['900/h', '2/s'], 3),
    partOf('middle', '50/min', 4),
  ]
  expect(keysOf(requestOf(...parts), true)).toEqual(['two', 'burst', 'middle', 'wide'])
  expect(keysOf(requestOf(...parts.toReversed()), true)).toEqual(['two', 'burst', 'middle', 'wide'])
})

test('steps with requests in flight come first, those with nothing else before the others', () => {
  const parts = [
    partOf('hour', ['100/h', '1 concurrent'], 1),
    partOf('slots', '2 concurrent', 2),
    partOf('minute', '50/min', 3),
    partOf('more-slots', '100 concurrent', 4),
    partOf('second', ['5/s', '1 concurrent'], 5),
  ]
  const expected = ['more-slots', 'slots', 'second', 'hour', 'minute']
  expect(keysOf(requestOf(...parts), true)).toEqual(expected)
  expect(keysOf(requestOf(...parts.toReversed()), true)).toEqual(expected)
})

test('equal steps are sorted by key, so that two requests never wait for each other', () => {
  const [a, b] = [partOf('a', '1/h', 2), partOf('b', '1/h', 1)]
  expect(keysOf(requestOf(a, b), true)).toEqual(['a', 'b'])
  expect(keysOf(requestOf(b, a), true)).toEqual(['a', 'b'])
  expect(keysOf(requestOf(b, a), false)).toEqual(['a', 'b'])
})

test('a step is a request for its shard, with the same payer, cost and grant, and the limits of its parts', () => {
  const [a, b, c] = [partOf('a', '5/min', 1), partOf('b', ['9/min', '8/h'], 2), partOf('c', '7/min', 1)]
  const request = requestOf(a, b, c)
  const [first, second] = stepsOf(request, true) ?? []
  expect(first).toMatchObject({ shard: 1, cost: 2, grant: 'all', subject: { id: 'payer' }, parts: [a, c] })
  expect(first?.limits).toEqual([...a.limits, ...c.limits])
  expect(second).toMatchObject({ shard: 2, parts: [b] })
  expect(second?.limits).toBe(b.limits)
  expect([first?.steps, second?.steps]).toEqual([undefined, undefined])
})
