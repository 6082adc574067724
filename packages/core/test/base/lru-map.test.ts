import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LruMap } from '../../src/base/caches.js'

setFlagsFromString('--expose_gc')
const collect = runInNewContext('gc') as () => void

function heldAfter(work: () => void): number {
  collect()
  const before = process.memoryUsage().heapUsed
  work()
  collect()
  return process.memoryUsage().heapUsed - before
}

test.each([
  ['far from full', 1000, 1],
  ['full', 100, 100],
  ['full, after it has forgotten', 100, 150],
])('uses of what is there leave nothing behind: %s', (_, most, first) => {
  const map = new LruMap<number>(most)
  for (let i = 0; i < first; i += 1) map.use(`key ${i}`, i)
  const held = heldAfter(() => {
    for (let i = 0; i < 100_000; i += 1) map.use(`key ${first - 1 - (i % Math.min(first, most))}`, i)
  })
  // An idle iterator would hold 150 bytes per use.
  expect(held).toBeLessThan(2_000_000)
})

test('the least recently used entry is evicted first, however often others are used in between', () => {
  const map = new LruMap<number>(3)
  for (const key of ['a', 'b', 'c']) map.use(key, 1)
  map.use('a', 2)
  map.use('d', 1)
  expect([...map.entries()].map(([key]) => key)).toEqual(['c', 'a', 'd'])
  for (let i = 0; i < 5000; i += 1) map.use(i % 2 ? 'c' : 'a', i)
  map.use('e', 1)
  expect([...map.entries()].map(([key]) => key)).toEqual(['a', 'c', 'e'])
})

test('evicted entries are reported; deleted and replaced ones are not', () => {
  const told: string[] = []
  const map = new LruMap<number>(2, (key, value) => told.push(`${key} ${value}`))
  map.use('a', 1)
  map.use('b', 2)
  map.use('a', 3)
  map.use('c', 4)
  map.delete('a')
  map.use('d', 5)
  map.use('e', 6)
  expect(told).toEqual(['b 2', 'c 4'])
})
