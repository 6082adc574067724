// What a command line cannot know, such as the plan of a customer, the application says: a process of it, or what it left in Redis.
import type { Limiter, LimiterOptions } from '@tollgate/core'
import { testPrefix, testRedisUrl } from '@tollgate/testing'
import { Application, OPTIONS } from './application.ts'
import { tollgate } from './command-line.ts'

const app = new Application()
const planOf = ({ id }: { id: string | number }): string => (id === 'acme' ? 'pro' : 'free')
const limiters: Limiter[] = []

afterEach(async () => {
  await Promise.all(limiters.splice(0).map((one) => one.close()))
})

function another(options: LimiterOptions): Limiter {
  const limiter = app.another(options)
  limiters.push(limiter)
  return limiter
}

/** The processes of the application have put down what they have seen, and their plans. */
async function putDown(limiter: Limiter): Promise<void> {
  await limiter.traffic()
}

describe('show without a plans file', () => {
  test('asks a process of the application for the plan, and has all that it knows', async () => {
    await app.limiter.close()
    const limiter = another({ ...OPTIONS, planOf })
    for (let i = 0; i < 2; i += 1) await limiter.consume('acme')
    await putDown(limiter)
    const { code, stdout } = await app.runElsewhere('show', 'acme')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^acme on the plan pro, at .* UTC\n/)
    expect(stdout).toMatch(/^month +100 per month +2 +2% +98 +0 /m)
    expect(stdout).toMatch(/^month, now +/m)
    // It knows more than a plans file without `planOf`.
    expect((await app.run('show', 'acme')).stdout).toMatch(/^acme on the plan pro, at /)
  })

  test('takes the plan of its last requests, where these name it', async () => {
    await app.limiter.consume({ id: 'acme', plan: 'pro' })
    await putDown(app.limiter)
    expect((await app.runElsewhere('show', 'acme')).stdout).toMatch(
      /^acme on the plan pro, as its last requests were, at .*\n\nLIMIT[^\n]*\nmonth +100 per month +1 /,
    )
    expect(await json('show', 'acme')).toMatchObject({ plan: 'pro', planFrom: 'requests' })
    expect(await json('show', 'acme', '--plan', 'free')).toMatchObject({ plan: 'free', planFrom: 'operator' })
    expect(await json('show', 'globex')).toMatchObject({ plan: 'free', planFrom: 'default' })
  })

  test('has what is in Redis, where no process lives', async () => {
    await app.limiter.consume({ id: 'acme', plan: 'pro' })
    await putDown(app.limiter)
    await app.limiter.close()
    const { stdout } = await app.runElsewhere('show', 'acme', '--plan', 'pro')
    expect(stdout).toMatch(/^month +100 per month +1 /m)
    expect((await app.runElsewhere('show', 'globex')).stdout).toMatch(/^globex on the default plan free, at /)
  })

  test('shows the limits that only the application knows', async () => {
    await app.limiter.close()
    another({ ...OPTIONS, plans: { ...OPTIONS.plans, gold: '7/h' }, planOf: () => 'gold' })
    const { stdout } = await app.run('show', 'acme')
    expect(stdout).toMatch(/^acme on the plan gold, at .*\n\nLIMIT[^\n]*\nhour +7 per h +0 +0% +7/)
  })

  test('knows the plan and the limits of a customer that a rule blocks, and books on them', async () => {
    await app.limiter.close()
    const limiter = another({
      ...OPTIONS,
      plans: { ...OPTIONS.plans, gold: { quota: 7, window: 'month' } },
      planOf: () => 'gold',
    })
    await limiter.consume({ id: 'acme' })
    await putDown(limiter)
    await app.runElsewhere('block', 'acme', '--for', '1h')
    const { stdout } = await app.runElsewhere('show', 'acme')
    expect(stdout).toMatch(
      /^acme on the plan gold, at .*\n\nBlocked until .*\n\nLIMIT[^\n]*\nmonth +7 per month +1 +14% +6/,
    )
    const topUp = ['top-up', 'acme', '--limit', 'month', '--units', '5', '--for', '30d', '--key', 'a']
    expect(await app.runElsewhere(...topUp)).toMatchObject({
      ...{ code: 0, stdout: expect.stringContaining('acme is on the plan gold.') },
    })
  })

  test('with hashed ids asks nobody, and knows the plan of the last denial', async () => {
    await app.limiter.close()
    const hashIds = 'a secret of more than 16 characters'
    const limiter = another({ ...OPTIONS, hashIds })
    for (let i = 0; i < 6; i += 1) await limiter.consume({ id: 'acme', plan: 'free' })
    await limiter.consume({ id: 'globex', plan: 'pro' })
    await putDown(limiter)
    const env = { REDIS_URL: testRedisUrl(), TOLLGATE_HASH_IDS: hashIds }
    const { stdout } = await tollgate(['show', 'acme', '--prefix', app.prefix], {
      env,
      cwd: app.elsewhere.cwd,
    })
    expect(stdout).toMatch(/^acme on the plan free, as its last requests were, at /)
    expect(stdout).toMatch(/^hour +5 per h +5 +100% +0 /m)
    const keys = await app.redis.keys(`${app.prefix}*`)
    expect(keys.filter((key) => key.includes('acme'))).toEqual([])
  })

  test('finds the plan of last requests by the hash, and says if the secret is missing', async () => {
    await app.limiter.close()
    const hashIds = 'a secret of more than 16 characters'
    const limiter = another({ ...OPTIONS, hashIds })
    await limiter.consume({ id: 'acme', plan: 'pro' })
    await putDown(limiter)
    const env = { REDIS_URL: testRedisUrl(), TOLLGATE_HASH_IDS: hashIds }
    const args = ['show', 'acme', '--prefix', app.prefix]
    const { stdout } = await tollgate(args, { env, cwd: app.elsewhere.cwd })
    expect(stdout).toMatch(/^acme on the plan pro, as its last requests were, at /)
  })

  test.each([
    ['show', 'acme'],
    ['why', 'acme'],
    ['history', 'acme'],
    ['rules', 'acme'],
    ['block', 'acme', '--for', '1h'],
    ['override', 'acme', '--factor', '2', '--for', '1h'],
    ['lift', 'override', 'acme'],
    ['forget-plan', 'acme'],
    ['reset', 'acme'],
  ])('brings no id to an application that hashes them: %s %s', async (...args) => {
    await app.limiter.close()
    const limiter = another({ ...OPTIONS, hashIds: 'a secret of more than 16 characters' })
    await limiter.consume({ id: 'acme', plan: 'pro' })
    await putDown(limiter)
    expect(await app.runElsewhere(...args)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('its secret is missing here.\nSet TOLLGATE_HASH_IDS'),
    })
    const keys = await app.redis.keys(`${app.prefix}*`)
    expect(keys.filter((key) => key.includes('acme'))).toEqual([])
    // A plan is no customer.
    const scaled = await app.runElsewhere('scale', 'pro', '2', '--for', '1h')
    expect(scaled).toMatchObject({ code: 0, stdout: expect.stringContaining('Done.') })
  })

  test('does not call a denial of yesterday its last requests', async () => {
    for (let i = 0; i < 6; i += 1) await app.limiter.consume({ id: 'acme', plan: 'free' })
    await putDown(app.limiter)
    // As if a minute had passed.
    await app.redis.del(`${app.prefix}/!board.traffic.^`, `${app.prefix}/!board.times.traffic.^`)
    await app.limiter.close()
    await app.redis.del(`${app.prefix}/!board.traffic.^`, `${app.prefix}/!board.times.traffic.^`)
    expect((await app.runElsewhere('show', 'acme')).stdout).toMatch(
      /^acme on the plan free, as its last denial was, at /,
    )
  })

  test('finds the plan on which a customer has used units, and says so', async () => {
    await app.limiter.consume({ id: 'somebody', plan: 'free' })
    await putDown(app.limiter)
    await app.limiter.close()
    const silent = another({ ...OPTIONS, traffic: false })
    await silent.consume({ id: 'acme', plan: 'pro' })
    expect((await app.runElsewhere('show', 'acme')).stdout).toMatch(
      /^acme on the plan pro, on which it has used units, at /,
    )
  })

  test('says what would be right, where nobody knows the plans', async () => {
    const without = await app.runElsewhere('show', 'acme', '--plan', 'pro', '--prefix', testPrefix())
    expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --plans FILE') })
  })
})

describe('bookings without a plans file', () => {
  const order = ['--limit', 'month', '--units', '500', '--for', '30d', '--key', 'order-17']

  test('use the plans of the application', async () => {
    await app.limiter.consume({ id: 'acme', plan: 'pro' })
    await putDown(app.limiter)
    const { code, stdout } = await app.runElsewhere('top-up', 'acme', '--plan', 'pro', ...order)
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(
        'Left of month: 599 units, 500 of them topped up, with a quota of 100.',
      ),
    })
    const found = await app.runElsewhere('top-up', 'acme', ...order)
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining('acme is on the plan pro.\n') })
    const which = await app.runElsewhere('top-up', 'globex', ...order)
    expect(which).toMatchObject({ code: 2, stderr: expect.stringContaining('Which plan is it?') })
    const wrong = await app.runElsewhere('top-up', 'acme', '--plan', 'pro', ...order, '--limit', 'day')
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("'day'") })
  })

  test('are refused where nobody knows these', async () => {
    const { code, stderr } = await app.runElsewhere('top-up', 'acme', '--plan', 'pro', ...order)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('are not known') })
    expect((await app.limiter.peek({ id: 'acme', plan: 'pro' })).limits[0]?.remaining).toBe(100)
  })
})

test('a rule for a plan that the application does not have is refused', async () => {
  await app.limiter.consume('acme')
  await putDown(app.limiter)
  for (const args of [
    ['scale', 'fre', '0.5'],
    ['override', 'acme', '--plan', 'prro'],
  ]) {
    const { code, stderr } = await app.runElsewhere(...args, '--for', '1h')
    expect({ args, code, stderr }).toEqual({
      args,
      code: 2,
      stderr: expect.stringMatching(/^(?:PLAN: got 'fre'|--plan: got 'prro'), expected /),
    })
  }
  expect((await app.runElsewhere('scale', 'free', '0.5', '--for', '1h')).code).toBe(0)
})

async function json(...args: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await app.runElsewhere(...args, '--json')
  return JSON.parse(stdout) as Record<string, unknown>
}
