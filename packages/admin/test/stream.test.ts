// Live figures: read once for all who look, and only for those who still may.
import type { Limiter } from '@tollgate/core'
import { Live } from '../src/live.js'
import { stream } from '../src/stream.js'

beforeEach(() => jest.useFakeTimers())
afterEach(() => jest.useRealTimers())

const VIEW = {
  coversMs: 10_000,
  processes: 1,
  unread: 0,
  requests: 50,
  denied: 5,
  busiest: [],
  mostDenied: [],
  nearest: [],
}

/** A limiter of which only the figures are asked for. */
function fakeLimiter(): Limiter & { readonly traffic: jest.Mock } {
  return {
    traffic: jest.fn(() => Promise.resolve(VIEW)),
    health: () => ({ status: 'ok', openShards: [] }),
    stats: () => ({
      ...{ decisions: {}, storeErrors: 0, pending: 0, inFlight: 0, waiting: { now: 0 } },
      leases: { units: 9, used: 4, returned: 1, lost: 1 },
    }),
  } as unknown as Limiter & { readonly traffic: jest.Mock }
}

async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms)
}

test('three who look cost one reading every two seconds, and none once they have left', async () => {
  const limiter = fakeLimiter()
  const live = new Live(limiter)
  const seen: number[] = [0, 0, 0]
  const leave = seen.map((_, i) => live.follow(() => (seen[i] = (seen[i] as number) + 1)))
  await pass(0)
  expect([limiter.traffic.mock.calls.length, ...seen]).toEqual([1, 1, 1, 1])
  await pass(20_000)
  expect([limiter.traffic.mock.calls.length, ...seen]).toEqual([11, 11, 11, 11])
  leave[0]?.()
  await pass(2000)
  expect(seen).toEqual([11, 12, 12])
  for (const one of leave) one()
  await pass(60_000)
  expect(limiter.traffic).toHaveBeenCalledTimes(12)
  expect(jest.getTimerCount()).toBe(0)
})

test('keeps samples of five minutes, also of readings that failed', async () => {
  const limiter = fakeLimiter()
  const live = new Live(limiter)
  const leave = live.follow(() => {})
  await pass(200_000)
  limiter.traffic.mockImplementation(() =>
    Promise.reject(Object.assign(new Error('x'), { code: 'ERR_TOLLGATE_STORE' })),
  )
  await pass(200_000)
  const { samples, figures, problem, process } = await live.overview()
  leave()
  expect(samples).toHaveLength(150)
  expect(samples[0]).toMatchObject({ allowedPerSecond: 4.5, deniedPerSecond: 0.5 })
  expect(samples.at(-1)).toMatchObject({ allowedPerSecond: 0, storeMs: null })
  expect([figures, problem, process.leasedUnits]).toEqual([null, 'The store does not answer.', 3])
})

test('asks again each minute whether who follows may look, and ends the stream if not', async () => {
  const live = new Live(fakeLimiter())
  const mayLook = jest.fn(() => Promise.resolve(true))
  const reader = stream(live, mayLook).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
  const events: string[] = []
  let isOver = false
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      events.push(Buffer.from(value).toString().split('\n')[0] as string)
    }
    isOver = true
  })()
  await pass(150_000)
  expect(mayLook).toHaveBeenCalledTimes(2)
  expect(new Set(events)).toEqual(new Set(['event: overview']))
  mayLook.mockResolvedValue(false)
  await pass(60_000)
  expect([events.at(-1), isOver, live.followers]).toEqual(['event: denied', true, 0])
  expect(jest.getTimerCount()).toBe(0)
})

test('who does not read holds back no figures, and leaves nothing running', async () => {
  const live = new Live(fakeLimiter())
  const { body } = stream(live, () => Promise.resolve(true))
  await pass(30_000)
  await body?.cancel()
  expect([live.followers, jest.getTimerCount()]).toEqual([0, 0])
})

test('whoever leaves while it is asked, or is asked for longer than a minute, ends nothing twice', async () => {
  const live = new Live(fakeLimiter())
  let answer: (may: boolean) => void = () => {}
  const mayLook = jest.fn(() => new Promise<boolean>((resolve) => (answer = resolve)))
  const left = stream(live, mayLook).body as ReadableStream<Uint8Array>
  await pass(60_000)
  await left.cancel()
  answer(false)
  await pass(0)
  const stays = stream(live, mayLook).body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
  await pass(200_000)
  expect(mayLook).toHaveBeenCalledTimes(2)
  answer(false)
  await pass(0)
  for (let last = await stays.read(); !last.done; last = await stays.read());
  expect([live.followers, jest.getTimerCount()]).toEqual([0, 0])
})
