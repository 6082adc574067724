import { implementations } from '../../src/algorithms/registry.js'
import { createLimitSet } from '../../src/plans/limit/limit.js'

test('each algorithm has a code of its own, in three bits of a state id', () => {
  const codes = Object.values(implementations).map(({ code }) => code)
  expect(new Set(codes).size).toBe(codes.length)
  expect(codes.filter((code) => code < 1 || code > 7)).toEqual([])
})

test('what is watched has the id of its limit, with the highest of 32 bits', () => {
  const [limit, watched] = createLimitSet({ quota: 9, window: 'h', watch: 5 }).limits
  expect(watched?.stateId).toBe((limit?.stateId ?? 0) + 2 ** 31)
  expect(watched?.stateId).toBeLessThan(2 ** 32)
})
