// Requests that the store decides after their deadline: nobody has the slot that it gives them, so it goes back.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@tollgate/testing'
import { createLimiter, memoryStore, type FailurePolicy } from '../../../src/index.js'
import { asyncStore } from '../../support/stores.js'

const DEADLINE_MS = 300

test.each<FailurePolicy>(['open', 'closed', 'local'])('in several steps: %s', async (onStoreFailure) => {
  const inner = memoryStore()
  let asked = 0
  let answer = (): void => {}
  const store = asyncStore(
    {
      atomic: false,
      consume: async (batch) => {
        const isAsked = batch.some(({ grant }) => grant === 'all')
        if (isAsked) asked += 1
        // The deadline of the request is over well before that of its second call.
        if (isAsked && asked === 1) await sleep((2 * DEADLINE_MS) / 3)
        if (isAsked && asked === 2) await new Promise<void>((resolve) => (answer = resolve))
        return inner.consume(batch)
      },
    },
    inner,
  )
  const limiter = createLimiter({
    ...{ limit: '2 concurrent', store, deadlineMs: DEADLINE_MS, onStoreFailure, warnings: false },
    local: { instances: 1 },
  })
  const decision = await limiter.consume(['first', 'second'])
  expect([decision.allowed, asked]).toEqual([onStoreFailure !== 'closed', 2])
  answer()
  const left = async (id: string): Promise<number | undefined> =>
    (await limiter.peek(id)).limits[0]?.remaining
  const running = decision.allowed ? 1 : 0
  for (const id of ['first', 'second']) await eventually(async () => (await left(id)) === 2 - running)
  expect(decision.release()).toBe(decision.allowed)
  for (const id of ['first', 'second']) await eventually(async () => (await left(id)) === 2)
  expect(limiter.stats().inFlight).toBe(0)
  await limiter.close()
})

test('a request that the store takes after it was told that nothing is held', async () => {
  const inner = memoryStore()
  const told: string[] = []
  let answer = (): void => {}
  const store = asyncStore(
    {
      consume: async (batch) => {
        const grants = batch.map(({ grant }) => grant)
        if (grants.includes('all')) await new Promise<void>((resolve) => (answer = resolve))
        told.push(...grants)
        return inner.consume(batch)
      },
    },
    inner,
  )
  const limiter = createLimiter({
    ...{ limit: '1 concurrent', store, deadlineMs: 50, onStoreFailure: 'closed', warnings: false },
    local: { instances: 1 },
  })
  expect((await limiter.consume('acme')).source).toBe('closed')
  await eventually(() => expect(told).toEqual(['release']))
  answer()
  await eventually(() => expect(told).toEqual(['release', 'all', 'release']))
  expect((await limiter.peek('acme')).limits[0]?.remaining).toBe(1)
  await limiter.close()
})
