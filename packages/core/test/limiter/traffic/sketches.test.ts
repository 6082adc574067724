// What the sketches promise: no error is larger than they say, whatever the stream and however it is spread over processes.
import fc from 'fast-check'
import type { Decision } from '../../../src/limiter/decision/decision.js'
import { type Figures, firstOf, merge, SeenLately, type Top } from '../../../src/limiter/traffic/figures.js'
import { readReportText, toReportText } from '../../../src/limiter/traffic/report-text.js'
import { Sampler } from '../../../src/limiter/traffic/sampler.js'
import { TopSketch } from '../../../src/limiter/traffic/top-sketch.js'

const targetOf = (id: string): { what: string; of: string } => ({ what: id, of: id })

/** Ids of which a few come often. */
const stream = fc.array(
  fc.tuple(fc.nat(40), fc.nat(40)).map(([a, b]) => `u${Math.min(a, b)}`),
  { minLength: 1, maxLength: 400 },
)

function countsOf(ids: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1)
  return counts
}

function sketchOf(ids: readonly string[], most: number): TopSketch {
  const sketch = new TopSketch(most)
  for (const id of ids) sketch.add(targetOf(id), 1, '')
  return sketch
}

test('a sketch never counts too few, and too many by no more than it says and than N / k', () => {
  fc.assert(
    fc.property(stream, fc.integer({ min: 1, max: 12 }), (ids, most) => {
      const counts = countsOf(ids)
      const sketch = sketchOf(ids, most)
      const entries = sketch.entries()
      expect(entries).toHaveLength(Math.min(most, counts.size))
      expect(entries.map(({ count }) => count)).toEqual(
        entries.map(({ count }) => count).toSorted((a, b) => b - a),
      )
      for (const { key, count, error } of entries) {
        const own = counts.get(key) as number
        expect(count).toBeGreaterThanOrEqual(own)
        expect(count - error).toBeLessThanOrEqual(own)
        expect(error).toBeLessThanOrEqual(ids.length / most)
      }
      const kept = new Set(entries.map(({ key }) => key))
      for (const [id, own] of counts) if (!kept.has(id)) expect(own).toBeLessThanOrEqual(sketch.floor)
    }),
  )
})

function figuresOf(ids: readonly string[], most: number): Omit<Figures, 'coversMs'> {
  const sketch = sketchOf(ids, most)
  const busiest: Top = { entries: sketch.entries(), floor: sketch.floor }
  return { requests: ids.length, denied: 0, busiest, mostDenied: { entries: [], floor: 0 }, nearest: [] }
}

test('merged, no figure is wrong by more than it says, and nobody who is left out has more than the floor', () => {
  fc.assert(
    fc.property(
      fc.array(stream, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 1, max: 12 }),
      (streams, most) => {
        const counts = countsOf(streams.flat())
        const merged = merge(streams.map((ids) => figuresOf(ids, most)))
        const { busiest, requests } = firstOf({ ...merged, coversMs: 0 }, most)
        expect(requests).toBe(streams.flat().length)
        for (const { key, count, error } of busiest.entries) {
          expect(Math.abs(count - (counts.get(key) as number))).toBeLessThanOrEqual(error)
        }
        const kept = new Set(busiest.entries.map(({ key }) => key))
        for (const [id, own] of counts) if (!kept.has(id)) expect(own).toBeLessThanOrEqual(busiest.floor)
      },
    ),
  )
})

test('the sampler counts all of few requests, and of many those that stand for all', () => {
  const few = new Sampler()
  for (let i = 0; i < 249; i += 1) expect(few.weigh()).toBe(1)
  expect(few.isExact).toBe(true)

  // Spread over time, as many requests are still few.
  const time = { now: 0 }
  const slow = new Sampler(() => time.now)
  for (let i = 0; i < 2000; i += 1) {
    time.now += 100
    expect(slow.weigh()).toBe(1)
  }

  const many = new Sampler()
  const N = 2_000_000
  let [sum, counted] = [0, 0]
  for (let i = 0; i < N; i += 1) {
    const weight = many.weigh()
    sum += weight
    if (weight > 0) counted += 1
  }
  // The last gap is still open, and its length is chance: by far no more than this.
  expect(Math.abs(sum - N)).toBeLessThan(N / 5)
  expect(counted).toBeLessThan(10_000)
  // Once it is quiet again, all are counted.
  for (let i = 0; i < 20; i += 1) many.tick()
  expect([many.isExact, many.weigh(), many.weigh()]).toEqual([true, 1, 1])
})

function decisionOf(id: string, used: number): Decision {
  const limits = [
    { name: 'minute', quota: 100, windowMs: 60_000, used, remaining: 100 - used, resetMs: 1000 },
  ]
  const allowed = used < 100
  return {
    allowed,
    subject: { id },
    plan: 'free',
    cost: 1,
    limits,
    violated: allowed ? [] : ['minute'],
  } as never
}

test('a report has at most as many characters as it may, loses the smallest first, and is read back', () => {
  const seen = new SeenLately()
  const shares = new Map<string, number>()
  for (let i = 0; i < 3000; i += 1) {
    const id = `customer-with-a-long-name-${i % 500}-${'x'.repeat(90)}`
    seen.note(decisionOf(id, i % 101), 1, targetOf(id))
    shares.set(id, Math.max(shares.get(id) ?? 0, (i % 101) / 100))
  }
  const figures = seen.figures()
  const text = toReportText(figures, 32_000)
  expect(text.length).toBeLessThanOrEqual(32_000)
  const read = readReportText(text) as Figures
  expect(read.requests).toBe(3000)
  expect(read.denied).toBe(figures.denied)
  const kept = read.busiest.entries.length
  expect(kept).toBeGreaterThan(20)
  expect(read.busiest).toEqual(firstOf(figures, kept).busiest)
  expect(read.nearest.map(({ share }) => share)).toEqual(
    [...shares.values()].toSorted((a, b) => b - a).slice(0, read.nearest.length),
  )
  const small = readReportText(toReportText(figures, 2000)) as Figures
  expect(small.busiest.entries.length).toBeGreaterThan(0)
})

test.each([
  '',
  'null',
  '[]',
  '{}',
  '[2,1,1,1,[0,[]],[0,[]],[]]',
  '[1,"a",1,1,[0,[]],[0,[]],[]]',
  '[1,1,1,1,[0,[["a"]]],[0,[]],[]]',
])('the text %j is of no report', (text) => {
  expect(readReportText(text)).toBeUndefined()
})
