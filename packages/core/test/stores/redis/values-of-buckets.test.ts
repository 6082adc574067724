// Values in Redis with several buckets of one window, as versions before this one wrote them.
import { testPrefix } from '@tollgate/testing'
import { redisStore, type LimitInput } from '../../../src/index.js'
import { closeBenches, sharedRedis, START_MS } from '../../support/benches.js'
import { outcomeOf, requestOf, setOf } from '../../support/store-requests.js'

afterAll(closeBenches)

test('buckets of one window that an earlier version wrote: each begins with the fullest', async () => {
  const clock = { now: START_MS }
  const prefix = testPrefix()
  const store = redisStore(sharedRedis(), { prefix, now: () => clock.now })
  const [slow, fast] = [
    { quota: 10, window: 's', burst: 60 } as const,
    { quota: 40, window: 's', burst: 20 } as const,
  ]
  for (let i = 0; i < 3; i += 1) {
    await outcomeOf(store, requestOf('now', setOf(slow, fast), 20))
    clock.now += 500
  }
  const [header, part] = [12, 12]
  const value = await sharedRedis().getBuffer(`${prefix}/now`)
  const head = (value as Buffer).subarray(0, header)
  const [ofSlow, ofFast] = [0, 1].map((i) =>
    (value as Buffer).subarray(header + i * part, header + (i + 1) * part),
  )
  // Both were kept under the state id, which is now that of the slowest alone.
  const before = Buffer.concat([(ofSlow as Buffer).subarray(0, 4), (ofFast as Buffer).subarray(4)])
  for (const parts of [
    [ofSlow, before],
    [before, ofSlow],
  ]) {
    await sharedRedis().set(`${prefix}/before`, Buffer.concat([head, ...(parts as Buffer[])]))
    const left = async (...limits: LimitInput[]): Promise<unknown> =>
      (await outcomeOf(store, requestOf('before', setOf(...limits)), 'peek')).limits.map(
        ({ remaining }) => remaining,
      )
    expect(await left(slow)).toEqual([15])
    expect(await left(slow, fast)).toEqual([15, 0])
    expect(await left(fast, slow)).toEqual([0, 15])
    await outcomeOf(store, requestOf('before', setOf(slow)))
    expect(await left('9/min', slow)).toEqual([9, 14])
  }
})
