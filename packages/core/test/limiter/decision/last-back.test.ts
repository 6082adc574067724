// Whose limit denied a request of several subjects, as references and the log of denials say it.
import { testPrefix } from '@tollgate/testing'
import {
  createLimiter,
  denialReferences,
  memoryStore,
  redisStore,
  type LimiterOptions,
  type Store,
} from '../../../src/index.js'
import { closeBenches, sharedRedis } from '../../support/benches.js'

afterAll(closeBenches)

const references = denialReferences({ secret: 'a secret of the operators' })
const [user, org] = [
  { id: 'user-1', plan: 'free' },
  { id: 'org-7', plan: 'team' },
]

const stores: readonly [string, () => Store][] = [
  ['memory', () => memoryStore()],
  ['Redis', () => redisStore(sharedRedis(), { prefix: testPrefix() })],
]

describe.each(stores)('%s', (_, newStore) => {
  const make = (options: object): ReturnType<typeof createLimiter> =>
    createLimiter({ store: newStore(), warnings: false, deadlineMs: 10_000, ...options } as LimiterOptions)

  test('a reference says it, if that is not the subject that pays', async () => {
    const limiter = make({ plans: { free: '3/h', team: '5/h' } })
    for (let i = 0; i < 2; i += 1) await limiter.consume([user, org])
    await limiter.consume(org, { cost: 3 })
    const ofOrg = await limiter.consume([user, org])
    const ofUser = await limiter.consume([user, { ...org, id: 'org-8' }], { cost: 2 })
    expect([ofOrg.violated, ofUser.violated]).toEqual([['team.hour'], ['hour']])
    expect(references.open(references.of(ofOrg))).toMatchObject({
      ...{ subject: 'user-1', plan: 'free', limit: 'team.hour', limitOf: 'org-7', used: 5, quota: 5 },
    })
    const said = references.open(references.of(ofUser))
    expect(said).toMatchObject({ subject: 'user-1', limit: 'hour', quota: 3 })
    expect(said).not.toHaveProperty('limitOf')
    await limiter.close()
  })

  test('of two long ids in a reference, each keeps at least six bytes', async () => {
    const name = 'n'.repeat(40)
    const most = 10 ** 12
    const limiter = make({ plans: { [name]: { quota: most, window: '30d', name } } })
    const [payer, other] = ['u', 'o'].map((letter) => ({ id: letter.repeat(200), plan: name, label: name }))
    await limiter.consume(other as never, { cost: most })
    const reference = references.of(await limiter.consume([payer, other] as never, { cost: most }))
    expect(reference.length).toBeLessThanOrEqual(200)
    const { subject, limitOf } = references.open(reference)
    expect(subject).toMatch(/^u{6,}…$/)
    expect(limitOf).toMatch(/^o{6,}…$/)
    await limiter.close()
  })

  test('the log has a record for each, with hashed ids, too', async () => {
    const limiter = make({ plans: { free: '9/h', team: '1/h' } })
    for (let i = 0; i < 3; i += 1) await limiter.consume([user, org])
    for (let i = 0; i < 2; i += 1) await limiter.consume([user, { ...org, id: 'org-8' }])
    await limiter.consume(user, { cost: 9 })
    const { denials } = await limiter.denialLog({ of: 'user-1' })
    const seen = denials.map(({ limit, limitOf, count, quota }) => ({ limit, limitOf, count, quota }))
    expect(seen.toSorted((a, b) => b.count - a.count || a.quota! - b.quota!)).toEqual([
      { limit: 'team.hour', limitOf: 'org-7', count: 2, quota: 1 },
      { limit: 'team.hour', limitOf: 'org-8', count: 1, quota: 1 },
      { limit: 'hour', limitOf: undefined, count: 1, quota: 9 },
    ])
    await limiter.close()
    const hashed = make({ plans: { free: '9/h', team: '1/h' }, hashIds: 'a secret of the operators' })
    for (let i = 0; i < 2; i += 1) await hashed.consume([user, org])
    const [record] = (await hashed.denialLog({ of: user })).denials
    expect(record?.limitOf).toMatch(/^#/)
    await hashed.close()
  })
})
