import { setTimeout as sleep } from 'node:timers/promises'
import { serveHandler } from '@tollgate/testing'
import { now, startLoad } from '../src/load.ts'
import { CONTROLS, CONTROL_RATE, FLOODING, TENANTS } from '../src/settings.ts'

const PER_SECOND =
  CONTROLS.length * CONTROL_RATE + Object.values(TENANTS).reduce((sum, { rate }) => sum + rate, 0)

/** Long beside what others can keep this process from its load. */
const STALLED_MS = 1500

test('an application that stalls gets what is due all the same, and each wait is seen', async () => {
  let isStalled = false
  const waiting: (() => void)[] = []
  const seen = new Set<unknown>()
  const application = await serveHandler((request, response) => {
    seen.add(request.headers['x-tenant'])
    const answer = (): void => void response.end('ok')
    if (isStalled) waiting.push(answer)
    else answer()
  })
  const load = startLoad(Number(new URL(application.url).port))
  await sleep(300)
  isStalled = true
  const stalledAt = now()
  await sleep(STALLED_MS)
  const held = waiting.length
  isStalled = false
  const overAt = now()
  for (const answer of waiting) answer()
  await sleep(200)
  const answers = await load.stop()
  await application.close()

  expect([...seen].toSorted()).toEqual([...Object.keys(TENANTS), ...CONTROLS].toSorted())
  expect(answers.length).toBeGreaterThan(((500 + STALLED_MS) / 1000) * PER_SECOND * 0.9)
  expect(held).toBeGreaterThan((STALLED_MS / 1000) * PER_SECOND * 0.8)
  expect(answers.every(({ status }) => status === 200)).toBe(true)
  const late = answers.filter(({ sentAt, ms }) => sentAt < overAt && sentAt + ms >= overAt)
  expect(late.length).toBeGreaterThanOrEqual(held)
  // Due at even times, so half of those that were held waited for more than half of it.
  const long = late.filter(({ ms }) => ms > (overAt - stalledAt) / 2).length
  expect(long / late.length).toBeGreaterThan(0.35)
  expect(long / late.length).toBeLessThan(0.75)
  const flooding = answers.filter(({ who }) => who === FLOODING).length
  expect(flooding / answers.length).toBeCloseTo((TENANTS[FLOODING]?.rate ?? 0) / PER_SECOND, 1)
})

test('an application that dies leaves requests without an answer', async () => {
  const application = await serveHandler((request) => request.socket.destroy())
  const load = startLoad(Number(new URL(application.url).port))
  await sleep(50)
  const answers = await load.stop()
  await application.close()
  expect(answers.length).toBeGreaterThan(0)
  expect(answers.every(({ status, error }) => status === 0 && error !== undefined)).toBe(true)
})
