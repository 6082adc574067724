import { createLimiter } from '../../../src/index.js'
import { memoryStore } from '../../../src/stores/memory/memory-store.js'
import { ProcessStore } from '../../../src/stores/memory/process-store.js'
import { ask, one, part, setOf } from './support.js'

test.each([0, -1, 1.5, Number.NaN, '5'])('maxSubjects of %p is refused at construction', (maxSubjects) => {
  expect(() => memoryStore({ maxSubjects: maxSubjects as number })).toThrow(
    expect.objectContaining({ path: 'maxSubjects' }),
  )
})

test('a clock that is not a function, and an unknown option, are refused at construction', () => {
  expect(() => memoryStore({ now: 5 as never })).toThrow(expect.objectContaining({ path: 'now' }))
  expect(() => memoryStore({ maxSubject: 5 } as never)).toThrow(
    expect.objectContaining({ path: 'memoryStore.maxSubject' }),
  )
})

test("it counts in µs, and follows changes of the system's clock", () => {
  const two = setOf('2/min')
  const times = Array.from({ length: 20 }, () => one(new ProcessStore(1), ask(part('a'))).at)
  expect(Math.abs((times[0] as number) / 1000 - Date.now())).toBeLessThan(1000)
  expect(new Set(times.map((at) => at % 1000)).size).toBeGreaterThan(3)

  const store = new ProcessStore(1)
  one(store, ask(part('a', 2, two)))
  const real = Date.now()
  const system = jest.spyOn(Date, 'now').mockReturnValue(real + 59_000)
  expect(one(store, ask(part('a', 1, two))).limits[0]?.wait).toBeGreaterThan(0)
  system.mockReturnValue(real + 61_000)
  expect(one(store, ask(part('a', 1, two))).limits[0]?.wait).toBe(0)
  system.mockRestore()
})

test('reset says nothing of a subject whose units count no more', async () => {
  const clock = { now: 1e12 }
  const limiter = createLimiter({ limit: '5/s', store: memoryStore({ now: () => clock.now }) })
  await limiter.consume('acme')
  clock.now += 999
  await limiter.consume('other')
  clock.now += 1
  expect([await limiter.reset('acme'), await limiter.reset('other')]).toEqual([false, true])
})
