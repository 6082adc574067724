// What `local` admits for one step of a request while its other steps are undecided.
import { eventually } from '@tollgate/testing'
import { createLimiter, memoryStore, type Limiter } from '../../src/index.js'
import { StoreError } from '../../src/base/errors.js'
import type { Answer, Store } from '../../src/stores/contract.js'

const PLANS = { org: '50/h', user: '60/h' } as const
const both = [
  { id: 'org', plan: 'org' },
  { id: 'user', plan: 'user' },
] as const
const left = async (limiter: Limiter, { id, plan }: { id: string; plan: string }): Promise<number> =>
  (await limiter.peek({ id, plan })).limits[0]?.remaining ?? -1

/** Each key is a step of its own. A call for which `fails` is true gets an error; one with `waits` waits for that. */
function storeOf(given: {
  fails?: (key: string, how: 'consume' | 'refund') => boolean
  waits?: (key: string) => Promise<void> | undefined
}): Store {
  const inner = memoryStore()
  const down = (): StoreError => new StoreError('connection lost')
  return {
    synchronous: false,
    consume: async (batch) => {
      const [request] = batch
      const key = request?.parts[0]?.key ?? ''
      if (request?.grant !== 'force' && given.fails?.(key, 'consume')) return batch.map(down)
      if (request?.grant !== 'force') await given.waits?.(key)
      return inner.consume(batch) as readonly Answer[]
    },
    peek: async (batch) => inner.peek(batch) as readonly Answer[],
    refund: async (batch) =>
      batch.map((request) => {
        if (given.fails?.(request.parts[0]?.key ?? '', 'refund')) return down()
        return (inner.refund([request]) as readonly boolean[])[0] ?? false
      }),
    reset: async (keys, shard) => inner.reset(keys, shard),
  }
}

test('is not charged before all steps have allowed it, and goes back when one denies', async () => {
  let isFailing = false
  let release = (): void => {}
  const store = storeOf({
    fails: (key) => isFailing && (key === 'org' || key === 'other'),
    // Until another subject, admitted at the same time, has been charged: the charging timer has fired by then.
    waits: (key) => (isFailing && key === 'user' ? new Promise((resolve) => (release = resolve)) : undefined),
  })
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'org',
    store,
    deadlineMs: 20_000,
    local: { instances: 1 },
  })
  await limiter.consume({ id: 'user', plan: 'user' }, { cost: 60 })
  isFailing = true
  const denied = limiter.consume(both)
  expect((await limiter.consume('other')).source).toBe('local')
  await eventually(() => limiter.stats().reconciled.units === 1)
  release()
  expect(await denied).toMatchObject({ allowed: false, violated: ['user.hour'] })
  isFailing = false
  await limiter.consume('other')
  await limiter.close()
  expect(limiter.stats().reconciled).toEqual({ units: 1, dropped: 0 })
  const again = createLimiter({ plans: PLANS, defaultPlan: 'org', store })
  expect(await left(again, both[0])).toBe(50)
  await again.close()
})

test('settle returns the old cost when only some of the subjects gave their units back', async () => {
  const store = storeOf({ fails: (key, how) => key === 'user' && how === 'refund' })
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'org',
    store,
    deadlineMs: 20_000,
    local: { instances: 1 },
  })
  const decision = await limiter.consume(both, { cost: 4 })
  expect(await limiter.settle(decision, 0)).toBe(4)
  expect([await left(limiter, both[0]), await left(limiter, both[1])]).toEqual([50, 56])
  await limiter.close()
})

test('units admitted after close are reported as dropped', async () => {
  const limiter = createLimiter({ limit: '100/h', store: storeOf({}), local: { instances: 1 } })
  await limiter.close()
  for (let i = 0; i < 7; i += 1) expect((await limiter.consume('acme')).source).toBe('local')
  expect(limiter.stats().reconciled).toEqual({ units: 0, dropped: 7 })
})

test('units denied after close are not reported as dropped', async () => {
  const limiter = createLimiter({
    plans: PLANS,
    defaultPlan: 'org',
    store: storeOf({}),
    local: { instances: 1 },
  })
  await limiter.close()
  await limiter.consume(both[1], { cost: 60 })
  expect(await limiter.consume(both)).toMatchObject({ allowed: false, source: 'local' })
  expect(limiter.stats().reconciled).toEqual({ units: 0, dropped: 60 })
})

test('close waits for a settlement in several steps, and excess units go back', async () => {
  let isWaiting = false
  let release = (): void => {}
  const store = storeOf({
    waits: (key) => {
      if (!isWaiting || key !== 'user') return undefined
      return new Promise((resolve) => (release = resolve))
    },
  })
  const options = {
    plans: PLANS,
    defaultPlan: 'org',
    store,
    deadlineMs: 20_000,
    local: { instances: 1 },
  } as const
  const limiter = createLimiter(options)
  await limiter.consume(both[1], { cost: 58 })
  const decision = await limiter.consume(both)
  isWaiting = true
  const settled = limiter.settle(decision, 11)
  await eventually(() => limiter.stats().pending === 1 && release.length === 1)
  const closed = limiter.close()
  release()
  expect(await settled).toBe(2)
  await closed
  isWaiting = false
  const again = createLimiter(options)
  expect([await left(again, both[0]), await left(again, both[1])]).toEqual([48, 0])
  await again.close()
})
