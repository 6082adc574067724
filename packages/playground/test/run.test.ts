import { Random } from '@tollgate/testing/random'
import { cases } from '@tollgate/testing'
import { expressRateLimit, fixedWindows, readLimits, Tollgate } from '../src/limiters.ts'
import { arrivedBy, nextAnswer, standingAt, worstOf } from '../src/run.ts'
import { FIRST, hashOf, runOf, sceneOf, type Scene } from '../src/scene.ts'
import { MemoryStore, type Options } from 'express-rate-limit'

const MINUTE = { quota: 100, windowMs: 60_000 }

test.each([
  ['100/min', ['100/min']],
  ["['50/s', '5000/h']", ['50/s', '5000/h']],
  ['["50/s","5000/h"]', ['50/s', '5000/h']],
  ['50/s, 5000/h', ['50/s', '5000/h']],
  ["'100 per 15 min'", ['100 per 15 min']],
  ['[]', []],
])('limits as they are typed: %s', (text, limits) => {
  expect(readLimits(text)).toEqual(limits)
})

/** The busiest window, slowly: each admitted request may end it. */
function busiest(times: readonly number[], windowMs: number): number {
  return Math.max(0, ...times.map((end) => times.filter((at) => at > end - windowMs && at <= end).length))
}

test('the busiest window so far is what counting by hand finds', () => {
  const random = new Random(5)
  for (let i = 0; i < cases(50, 1000); i += 1) {
    const arrivals = Array.from({ length: random.int(1, 60) }, () => random.int(0, 50)).sort((a, b) => a - b)
    const admitted = arrivals.map(() => random.chance(0.7))
    const windowMs = random.int(1, 20)
    const found = worstOf(arrivals, admitted, windowMs)
    arrivals.forEach((_, k) => {
      const times = arrivals.slice(0, k + 1).filter((_at, j) => admitted[j])
      const { admitted: most, fromMs, toMs } = found[k]!
      expect(most).toBe(busiest(times, windowMs))
      // The window that is named has as many.
      expect(times.filter((at) => at >= fromMs && at <= toMs).length).toBeGreaterThanOrEqual(most)
      expect(toMs - fromMs).toBeLessThan(windowMs)
    })
  }
})

test('requests that are exactly a window apart are not in the same one', () => {
  expect(worstOf([0, 60_000], [true, true], 60_000).map(({ admitted }) => admitted)).toEqual([1, 1])
  expect(worstOf([0, 59_999], [true, true], 60_000).map(({ admitted }) => admitted)).toEqual([1, 2])
})

test('how many have arrived by a time', () => {
  expect([-1, 0, 4, 5, 9].map((at) => arrivedBy([0, 5, 5, 8], at))).toEqual([0, 1, 1, 3, 4])
})

test('a fixed window begins with the clock', () => {
  const admits = fixedWindows([{ quota: 2, windowMs: 1000 }])
  expect([900, 950, 999, 1000, 1001, 1002].map(admits)).toEqual([true, true, false, true, true, false])
})

test("express-rate-limit's window is that of its own memory store", async () => {
  const random = new Random(8)
  jest.useFakeTimers()
  try {
    for (let i = 0; i < cases(20, 300); i += 1) {
      const [quota, windowMs] = [random.int(1, 5), random.int(10, 100)]
      const store = new MemoryStore()
      store.init({ windowMs } as Options)
      const ours = expressRateLimit([{ quota, windowMs }])
      const start = Date.now()
      let at = 0
      for (let k = 0; k < 60; k += 1) {
        const step = random.int(0, windowMs / 3)
        at += step
        jest.setSystemTime(start + at)
        const { totalHits } = await store.increment('client')
        expect(ours(at)).toBe(totalHits <= quota)
      }
      store.shutdown()
    }
  } finally {
    jest.useRealTimers()
  }
})

test('several limits hold at once: of fixed windows all or nothing, of middlewares one after another', () => {
  const shapes = [
    { quota: 3, windowMs: 10 },
    { quota: 2, windowMs: 100 },
  ]
  const [fixed, express] = [fixedWindows(shapes), expressRateLimit(shapes)]
  expect([0, 1, 2, 3].map(fixed)).toEqual([true, true, false, false])
  expect([0, 1, 2, 3].map(express)).toEqual([true, true, false, false])
  expect([fixed(50), express(50)]).toEqual([false, false])
})

test('a request that a fixed window denies takes from none of the limits', () => {
  const admits = fixedWindows([
    { quota: 1, windowMs: 10 },
    { quota: 3, windowMs: 100 },
  ])
  expect([0, 1, 2, 10, 20, 30].map(admits)).toEqual([true, false, false, true, true, false])
})

test('Tollgate is core itself: a wrong limit has its message, one of requests in flight is refused', () => {
  expect(() => new Tollgate(['100/fortnight'], 'sliding-log')).toThrow(/limit.*100\/fortnight/)
  expect(() => new Tollgate(['5 concurrent'], 'sliding-log')).toThrow(/in flight/)
  expect(new Tollgate(['50/s', '5000/h'], 'sliding-log').shapes).toEqual([
    { quota: 50, windowMs: 1000 },
    { quota: 5000, windowMs: 3_600_000 },
  ])
})

test.each([
  ['100/min', 'sliding-window', 'sliding-window'],
  ['50/s burst 100', 'sliding-log', 'token-bucket'],
  ['100/month', 'sliding-log', 'fixed-window'],
] as const)('%s with %s chosen is counted by a %s', (limit, chosen, counted) => {
  expect(new Tollgate([limit], chosen).countedBy).toBe(counted)
})

const worstIn = (scene: Scene): Record<string, number> => {
  const run = runOf(scene)
  return Object.fromEntries(
    run.lanes.map((lane) => [lane.name, standingAt(run, lane, run.lengthMs).worst.admitted]),
  )
}

describe('scenes', () => {
  test('the first: 199 in a minute with the others, 100 with Tollgate', () => {
    expect(worstIn(FIRST)).toEqual({ fixed: 199, express: 199, tollgate: 100 })
  })

  test('with sliding-log Tollgate is never over, whatever the traffic', () => {
    for (const pattern of ['seam', 'steady', 'random', 'flood'] as const) {
      for (const limit of ['100/min', '10/s', "['7/s', '20/min']"]) {
        const { tollgate } = worstIn({ ...FIRST, pattern, limit })
        expect(tollgate).toBeGreaterThan(0)
        expect(tollgate).toBeLessThanOrEqual(Number.parseInt(limit.replace(/\D*/, ''), 10))
      }
    }
  })

  // A bucket of 100 is full again at second 59, and gets 3 more until second 61.
  test.each([
    ['sliding-log', 100],
    ['sliding-window', 100],
    ['fixed-window', 199],
    ['token-bucket', 103],
  ] as const)('%s lets %i in at the seam', (algorithm, most) => {
    expect(worstIn({ ...FIRST, algorithm })['tollgate']).toBe(most)
  })

  test('how it stands at a time, and what the next client gets', () => {
    const run = runOf(FIRST)
    const tollgate = run.lanes.find(({ name }) => name === 'tollgate')!
    expect(standingAt(run, tollgate, -1)).toMatchObject({
      asked: 0,
      admitted: 0,
      denied: 0,
      worst: { admitted: 0 },
    })
    expect(standingAt(run, tollgate, 59_000)).toMatchObject({ asked: 101, admitted: 100, denied: 1 })
    expect(standingAt(run, tollgate, run.lengthMs)).toMatchObject({ asked: 201, admitted: 101, denied: 100 })
    expect(nextAnswer(run, 10_000)).toMatchObject({
      status: undefined,
      headers: { 'RateLimit-Remaining': '98' },
    })
    expect(nextAnswer(run, 61_000)).toMatchObject({ status: 429, headers: { 'Retry-After': '58' } })
  })
})

describe('links', () => {
  test('the first scene has none', () => {
    expect(hashOf(FIRST)).toBe('')
    expect(sceneOf('')).toEqual(FIRST)
  })

  test('a link holds all settings', () => {
    const random = new Random(3)
    for (let i = 0; i < cases(50, 500); i += 1) {
      const scene: Scene = {
        limit: random.pick(['100/min', "['50/s', '5000/h']", 'a & b = ü#?%']),
        algorithm: random.pick(['sliding-log', 'sliding-window', 'fixed-window', 'token-bucket'] as const),
        ...random.pick([
          { pattern: 'own', own: '5 at 1s, 3 from 2s to 4s' } as const,
          { pattern: 'flood', own: '' } as const,
        ]),
        seed: random.int(0, 1000),
      }
      expect(sceneOf(hashOf(scene))).toEqual(scene)
    }
  })

  test('what a link says wrongly is as in the first scene', () => {
    expect(sceneOf('#algorithm=magic&traffic=none&seed=x&other=1')).toEqual(FIRST)
    expect(sceneOf('#algorithm=constructor&traffic=toString')).toEqual(FIRST)
  })
})

test('the traffic starts from what a limit says, whatever is left over', () => {
  expect(runOf({ ...FIRST, limit: '5/s' }).watched).toEqual({ quota: 5, windowMs: 1000 })
  expect(runOf(FIRST).watched).toEqual(MINUTE)
  expect(() => runOf({ ...FIRST, limit: '' })).toThrow(/limit/)
  expect(() => runOf({ ...FIRST, limit: '' })).toThrow('limit: there is none; type one such as 100/min')
  for (const limit of ['unlimited', '100/min, Blocked'])
    expect(() => runOf({ ...FIRST, limit })).toThrow(
      /limit: '\w+' counts nothing, so .*; type one such as 100\/min/,
    )
  expect(() => runOf({ ...FIRST, limit: '5000000/month' })).toThrow(/at most 40000/)
})

test('a scene has at most twenty limits: a link with thousands would make the page hang', () => {
  const limitsOf = (count: number): string =>
    Array.from({ length: count }, (_, i) => `${100 + i}/${i + 1}s`).join(', ')
  expect(runOf({ ...FIRST, limit: limitsOf(20) }).limits).toHaveLength(20)
  for (const count of [21, 3000])
    expect(() => runOf({ ...FIRST, limit: limitsOf(count) })).toThrow(
      `limit: a scene has at most 20, and this has ${count}`,
    )
})
