// A reset that the store does after the deadline, when its caller has been told that it failed.
import { setImmediate as turn } from 'node:timers/promises'
import { createLimiter, memoryStore, type Store } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'

test('requests in flight are told again, so that no more of them run', async () => {
  let reset = (): void => {}
  const isDue = new Promise<void>((resolve) => (reset = resolve))
  const inner = memoryStore()
  const asked: string[] = []
  const change: Partial<Store> = {
    consume: async (batch) => {
      asked.push(...batch.map(({ grant }) => grant))
      return inner.consume(batch)
    },
    reset: async (keys, shard) => {
      await isDue
      asked.push('reset')
      return inner.reset(keys, shard)
    },
  }
  const limiter = createLimiter({
    limit: ['2 concurrent'],
    store: asyncStore(change, inner),
    deadlineMs: 50,
    onStoreFailure: 'closed',
    local: { instances: 1 },
    warnings: false,
  })
  await limiter.consume('acme')
  await limiter.consume('acme')
  await expect(limiter.reset('acme')).rejects.toThrow('did not answer within 50 ms')
  asked.length = 0
  reset()
  for (let i = 0; i < 5; i += 1) await turn()
  expect((await limiter.consume('acme')).allowed).toBe(false)
  expect(asked).toEqual(['reset', 'declare', 'all'])
  await limiter.close()
})
