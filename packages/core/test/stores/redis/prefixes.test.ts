import { testPrefix } from '@tollgate/testing'
import { createLimiter, redisStore } from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

test('no id under one prefix is the key of another under a longer one (law 10)', async () => {
  const prefix = testPrefix()
  const [outer, inner] = [prefix, `${prefix}:app`].map((each) =>
    createLimiter({
      limit: '5/min',
      store: redisStore(sharedRedis(), { prefix: each }),
      deadlineMs: 10_000,
    }),
  )
  await outer?.consume('app:acme', { cost: 5 })
  await outer?.consume('app/acme', { cost: 5 })
  expect((await inner?.peek('acme'))?.limits[0]?.remaining).toBe(5)
  await Promise.all([outer?.close(), inner?.close()])
})
