// A thousand processes on one Redis: what their figures cost it, and that they still say how exact they are.
import { testPrefix } from '@tollgate/testing'
import { listBegin } from '../../../src/features/rules/rules.js'
import { createLimiter, redisStore } from '../../../src/index.js'
import type { Decision } from '../../../src/limiter/decision/decision.js'
import { topicOf } from '../../../src/limiter/traffic/board-access.js'
import { REPORTS, Traffic } from '../../../src/limiter/traffic/traffic.js'
import type { Board } from '../../../src/stores/board.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'
import { closesWithTest, endFaults } from '../../support/faults.js'

afterEach(endFaults)
afterAll(closeBenches)

/** So few that all requests of a process are counted. */
const [PROCESSES, REQUESTS] = [1000, 240]
const plans = { free: '100/min' }

function decisionOf(id: string): Decision {
  const limits = [{ name: 'minute', quota: 100, windowMs: 60_000, used: 1, remaining: 99, resetMs: 1000 }]
  const allowed = { allowed: true, limits, violated: [], retryAfterMs: 0, cost: 1, source: 'store' }
  return { ...allowed, plan: 'free', subject: { id } } as unknown as Decision
}

test('keep 4 MB together, put down one note each, and say how exact their figures are', async () => {
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix })
  const limiter = closesWithTest(createLimiter({ plans, defaultPlan: 'free', store, traffic: false }))
  const board = store.board as Board
  let calls = 0
  const counted: Board = {
    put: (...given) => {
      calls += 1
      return board.put(...given)
    },
    read: board.read.bind(board),
  }
  const name = listBegin(undefined)
  const options = { board: counted, name, hide: undefined, synchronous: false, warn: () => {} }
  const given = { plans, defaultPlan: 'free' }
  const processes = Array.from({ length: PROCESSES }, () => {
    return new Traffic({ ...options, nowMs: () => Date.now(), plans: () => given })
  })
  // Without timers, so that each puts its note down when it is told to.
  for (const one of processes) one.close()
  let acme = 0
  for (const [i, one] of processes.entries()) {
    for (let n = 0; n < REQUESTS; n += 1) {
      const isAcme = n % 4 === 0
      if (isAcme) acme += 1
      one.note(decisionOf(isAcme ? 'acme' : `customer-${(i + n) % 700}`), undefined)
    }
  }
  const putAll = async (): Promise<void> => {
    for (const one of processes) await one.put()
  }
  // In the first round they come up, and in the second each learns how many they are.
  await putAll()
  await putAll()
  calls = 0
  await putAll()
  expect(calls).toBe(PROCESSES)
  const notes = await board.read(topicOf('traffic', name), { ...REPORTS, sinceMs: 0 })
  expect(notes).toHaveLength(PROCESSES)
  const characters = notes.reduce((sum, { text }) => sum + text.length, 0)
  expect(characters).toBeLessThanOrEqual(4_000_000)
  const { processes: told, requests, busiest } = await limiter.traffic({ most: 5 })
  expect({ told, requests }).toEqual({ told: PROCESSES, requests: PROCESSES * REQUESTS })
  const [first] = busiest
  expect(first?.subject).toBe('acme')
  expect(Math.abs((first?.requests ?? 0) - acme)).toBeLessThanOrEqual(first?.error ?? 0)
})
