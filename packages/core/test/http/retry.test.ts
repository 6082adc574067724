import { retryFor, type DenialOptions } from '../../src/http/answers/denial.js'
import type { Decision } from '../../src/index.js'

const decision = (retryAfterMs: number): Decision => ({
  allowed: false,
  subject: { id: 'a' },
  plan: 'pro',
  cost: 1,
  limits: [],
  violated: [],
  retryAfterMs,
  reason: 'quota-exceeded',
  source: 'store',
  release: () => false,
})

/** The earliest and the latest that clients are told. */
function range(retryAfterMs: number, options: DenialOptions): (number | undefined)[] {
  return [0, 0.9999].map((share) => {
    jest.spyOn(Math, 'random').mockReturnValueOnce(share)
    return retryFor(decision(retryAfterMs), options)?.seconds
  })
}

afterEach(() => jest.restoreAllMocks())

test.each<[what: string, retryAfterMs: number, options: DenialOptions, range: number[]]>([
  ['without jitter there is one time', 9500, {}, [10, 10]],
  ['a client comes later by the jitter', 9500, { retryJitterMs: 60_000 }, [10, 70]],
  ['but not beyond the longest', 9500, { retryJitterMs: 60_000, maxRetryAfterMs: 30_000 }, [10, 30]],
  [
    'a wait that is cut is spread below it',
    90_000,
    { retryJitterMs: 20_000, maxRetryAfterMs: 60_500 },
    [60, 41],
  ],
  ['down to a second', 90_000, { retryJitterMs: 99_000, maxRetryAfterMs: 60_000 }, [60, 2]],
  ['the shortest longest', 90_000, { retryJitterMs: 99_000, maxRetryAfterMs: 1000 }, [1, 1]],
  ['a wait that is cut, without jitter', 90_000, { maxRetryAfterMs: 60_000 }, [60, 60]],
  ['no wait is a second', 0, {}, [1, 1]],
])('%s', (_, retryAfterMs, options, expected) => {
  expect(range(retryAfterMs, options)).toEqual(expected)
})
