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
  const seen = new Set<unknown>()
  const application = await serveHandler((request, response) => {
    seen.add(request.headers['x-tenant'])
    const answer = (): void => void response.end('ok')
    if (isStalled) waiting.push(answer)
    else answer()
  })
  const startedAt = now()
  const load = startLoad(Number(new URL(application.url).port), { rates, mostUnderWay: Infinity })
  await eventually(() => expect([...seen].toSorted()).toEqual([...EVERYBODY].toSorted()))
  isStalled = true
  const stalledAt = now()
  // This many are due in that time, sent or not, and none has been answered.
  await eventually(() => waiting.length >= (STALLED_MS / 1000) * PER_SECOND)
  const held = waiting.length
  isStalled = false
  const overAt = now()
  for (const answer of waiting) answer()
  const answers = await load.stop()
  await application.close()

  // All that were due have been sent.
  expect(answers.length).toBeGreaterThan(((overAt - startedAt) / 1000) * PER_SECOND * 0.9)
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  const late = answers.filter(({ sentAt, ms }) => sentAt < overAt && sentAt + ms >= overAt)
  expect(late.length).toBeGreaterThanOrEqual(held)
  // Requests are due at even times, so half of the delayed ones waited for more than half of the stall.
  const long = late.filter(({ ms }) => ms > (overAt - stalledAt) / 2).length
  expect(long / late.length).toBeGreaterThan(0.25)
  expect(long / late.length).toBeLessThan(0.85)
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
