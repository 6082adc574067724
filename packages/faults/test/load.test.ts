import { eventually, serveHandler } from '@tollgate/testing'
import { now, startLoad } from '../src/load.ts'
import { FLOODING, SHORT } from '../src/settings.ts'

const { rates } = SHORT
const EVERYBODY = Object.keys(rates)
const PER_SECOND = Object.values(rates).reduce((sum, rate) => sum + rate, 0)

/** Much longer than other programs can delay this process, in ms. */
const STALLED_MS = 1500

test('requests to a stalled application are sent when due, and each wait is seen', async () => {
  let isStalled = false
  const waiting: (() => void)[] = []
  const arrivals: number[] = []
  const seen = new Set<unknown>()
  const application = await serveHandler((request, response) => {
    seen.add(request.headers['x-tenant'])
    const answer = (): void => void response.end('ok')
    if (!isStalled) return answer()
    arrivals.push(now())
    waiting.push(answer)
  })
  const load = startLoad(Number(new URL(application.url).port), { rates, mostUnderWay: Infinity })
  await eventually(() => expect([...seen].toSorted()).toEqual([...EVERYBODY].toSorted()))
  isStalled = true
  // This many are due in that time, sent or not, and none has been answered.
  await eventually(() => waiting.length >= (STALLED_MS / 1000) * PER_SECOND)
  isStalled = false
  const overAt = now()
  for (const answer of waiting) answer()
  const answers = await load.stop()
  await application.close()

  expect(answers.every(({ status }) => status === 200)).toBe(true)
  // Each request that was held has waited at least from its arrival to the end of the stall.
  const waits = answers.map(({ ms }) => ms).toSorted((a, b) => b - a)
  const short = arrivals.filter((at, i) => (waits[i] ?? 0) < overAt - at)
  expect([arrivals.length, short]).toEqual([waiting.length, []])
  const flooding = answers.filter(({ who }) => who === FLOODING).length
  expect(flooding / answers.length).toBeCloseTo((rates[FLOODING] ?? 0) / PER_SECOND, 1)
})

test('an application that dies leaves requests without an answer', async () => {
  const application = await serveHandler((request) => request.socket.destroy())
  const load = startLoad(Number(new URL(application.url).port), { rates, mostUnderWay: Infinity })
  await eventually(() => load.answers.length > 0)
  const answers = await load.stop()
  await application.close()
  expect(answers.length).toBeGreaterThan(0)
  expect(answers.every(({ status, error }) => status === 0 && error !== undefined)).toBe(true)
})
