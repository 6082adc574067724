import { GenerationalCache } from '../../src/base/caches.js'

const found = (map: GenerationalCache<number>, keys: string): string =>
  keys
    .split('')
    .filter((key) => map.get(key))
    .join('')

test('holds the latest entries, up to twice the given number', () => {
  const map = new GenerationalCache<number>(2)
  for (const key of 'abcde') map.set(key, 1)
  expect(found(map, 'abcde')).toBe('cde')
})

test('setting an existing key drops nothing', () => {
  const map = new GenerationalCache<number>(2)
  for (const key of 'abcd') map.set(key, 1)
  for (let i = 0; i < 10; i += 1) for (const key of 'cd') map.set(key, 2)
  expect(found(map, 'abcd')).toBe('abcd')
})

test('a refreshed entry stays longer', () => {
  const map = new GenerationalCache<number>(2)
  for (const key of 'abc') map.set(key, 1)
  expect([map.refresh('a'), map.refresh('x')]).toEqual([1, undefined])
  map.set('d', 1)
  expect(found(map, 'abcd')).toBe('acd')
  map.delete('a')
  expect(map.get('a')).toBeUndefined()
})
