// Blocks that began are counted by plan.
import { createLimiter, memoryStore } from '@tollgate/core'
import { instrument } from '../src/index.js'
import { collect } from './collect.ts'

test('one for each block, with its plan and the attributes of the user', async () => {
  const collected = collect()
  const blockAfter = { denials: 2, within: '1min', for: ['1min'] }
  const limiter = createLimiter({ plans: { free: { limits: '1/min', blockAfter } }, store: memoryStore() })
  const stop = instrument(limiter, { meterProvider: collected.provider, attributes: { app: 'api' } })
  for (const id of ['acme', 'other']) for (let i = 0; i < 6; i += 1) await limiter.consume(id)
  expect(await collected.sum('tollgate.blocks', { app: 'api', 'tollgate.plan.name': 'free' })).toBe(2)
  stop.stop()
  await collected.close()
})
