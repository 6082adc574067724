// What ends a block by hand: Pipeline.unblock, in the process that does it and over a store that fails.
import { eventually } from '@tollgate/testing'
import { keepSilent } from '../../../src/base/warnings.js'
import { createLimiter, StoreError, type Limiter, type Store } from '../../../src/index.js'
import { createFeatures } from '../../../src/limiter/pipeline/features.js'
import { Pipeline } from '../../../src/limiter/pipeline/pipeline.js'
import { Events, type SubjectBlocked } from '../../../src/limiter/report/events.js'
import { Reporter, StoreWarning } from '../../../src/limiter/report/reporter.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { LimitSet } from '../../../src/plans/limit/limit-set.js'
import type { Request } from '../../../src/requests/request.js'
import { asyncStore } from '../../support/stores.js'

const limits = '2/h'
const plan = compilePlan(
  'free',
  { limits, blockAfter: { denials: 2, within: '1h', for: ['1h'] } },
  'plans.free',
)
const set = plan.set as LimitSet
const subject = { id: 'acme' }
const part = {
  ...{ key: 'k', set, cost: 1, subject, limits: plan.limits, planName: 'free', place: undefined },
  ...{ onStoreFailure: undefined, shard: 0 },
}
const request: Request = {
  ...{ subject, plan, cost: 1, parts: [part], limits: plan.limits, shard: 0, grant: 'all' },
}
const keys = { shard: 0, keys: ['k', 'other'], sets: [set] }

function start(store: Store): { pipeline: Pipeline; blocked: SubjectBlocked[] } {
  const blocked: SubjectBlocked[] = []
  const events = new Events({}, keepSilent)
  events.on('blocked', (one) => void blocked.push(one))
  const failure = { onStoreFailure: 'closed', deadlineMs: 2000, local: { instances: 1 } } as const
  const features = createFeatures({ store, rules: {}, deadlineMs: 2000, denials: { recheckMs: 60_000 } })
  const options = {
    ...{ ...failure, store, begin: '', warn: keepSilent, features },
    ...{ blockOf: () => undefined, areCounted: () => false },
  }
  return {
    pipeline: new Pipeline(options, new Reporter(events, new StoreWarning(keepSilent, 'closed'))),
    blocked,
  }
}

async function block(pipeline: Pipeline): Promise<void> {
  await Promise.all(Array.from({ length: 4 }, () => pipeline.consume(request)))
  expect(await pipeline.consume(request)).toMatchObject({ source: 'cache', reason: 'blocked' })
}

test('it takes effect at once in its process, and repeating it changes nothing', async () => {
  const { pipeline, blocked } = start(asyncStore())
  await block(pipeline)
  expect(await pipeline.unblock(keys)).toBe(true)
  expect(await pipeline.consume(request)).toMatchObject({ source: 'store', reason: 'quota-exceeded' })
  expect(await pipeline.unblock(keys)).toBe(false)
  expect(await pipeline.unblock(keys)).toBe(false)
  await pipeline.consume(request)
  expect(blocked.map(({ level }) => level)).toEqual([1])
  await pipeline.close()
})

test('it fails when the store fails, and when the limiter was closed', async () => {
  let isAway = false
  const inner = asyncStore()
  const { pipeline } = start({
    ...inner,
    consume: (batch, call) => (isAway ? Promise.reject(new StoreError('away')) : inner.consume(batch, call)),
  })
  await block(pipeline)
  isAway = true
  await expect(pipeline.unblock(keys)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_STORE' })
  isAway = false
  expect(await pipeline.unblock(keys)).toBe(true)
  await pipeline.close()
  await expect(pipeline.unblock(keys)).rejects.toMatchObject({ code: 'ERR_TOLLGATE_CLOSED' })
})

test('a store that blocks nobody is not asked', async () => {
  const { pipeline } = start(asyncStore({ blocks: false }))
  expect(await pipeline.unblock(keys)).toBe(false)
  await pipeline.close()
})

describe('where there are no rules', () => {
  const noRules: Store['rules'] = {
    sync: () => Promise.reject(new StoreError('no permission', { reason: 'not-permitted' })),
  }
  let limiter: Limiter
  afterEach(() => limiter.close())

  test.each([
    ['the store keeps none', undefined],
    ['they are off', noRules],
  ])('because %s, a block that came by itself is ended', async (_, rules) => {
    const store = asyncStore(rules && { rules })
    const blockAfter = { denials: 1, within: '1h', for: ['1h'] } as const
    limiter = createLimiter({ plans: { free: { limits: '1/h', blockAfter } }, store, warnings: false })
    if (rules) await eventually(() => limiter.health().rules === 'off')
    await Promise.all([limiter.consume('acme'), limiter.consume('acme')])
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'blocked' })
    expect(await limiter.unblock('acme')).toBe(true)
    expect(await limiter.peek('acme')).toMatchObject({ reason: 'quota-exceeded' })
    expect(await limiter.unblock('acme')).toBe(false)
    await expect(limiter.unblock('acme*')).rejects.toThrow()
    await expect(limiter.block('acme', { for: '1h' })).rejects.toThrow()
  })
})
