// What a customer has used, and what an operator books for it.
import { eventually, hearCommands, testPrefix, testRedisUrl } from '@tollgate/testing'
import { Application, acme } from './application.ts'
import { folderWith, tollgate } from './command-line.ts'

const app = new Application()

describe('show', () => {
  test('says what is used and left of each limit, and takes nothing', async () => {
    for (let i = 0; i < 3; i += 1) await app.limiter.consume(acme)
    const { code, stdout } = await app.run('show', 'acme', '--plan', 'free')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^acme on the plan free, at .* UTC\n/)
    expect(stdout).toMatch(/^hour +5 per h +3 +60% +2 +/m)
    expect(stdout).toMatch(/^month +1,000 per month +3 +0% +997 +/m)
    expect(stdout).toMatch(/No rules hold for it\.\n$/)
    expect((await app.limiter.peek(acme)).limits.map(({ used }) => used)).toEqual([3, 3])
  })

  test('uses the default plan, and says so', async () => {
    expect((await app.run('show', 'acme')).stdout).toMatch(/^acme on the default plan free,/)
  })

  test('says for programs when more is back', async () => {
    await app.limiter.consume(acme)
    const { subject, plan, at, limits, rules: none } = await app.json('show', 'acme')
    expect({ subject, plan, none }).toEqual({ subject: { id: 'acme' }, plan: 'free', none: [] })
    expect(limits[0]).toMatchObject({ name: 'hour', quota: 5, used: 1, remaining: 4 })
    expect(Date.parse(limits[0]?.backAt ?? '') - Date.parse(at)).toBe(limits[0]?.resetMs)
  })

  test('has requests in flight, overage, top-ups and the window', async () => {
    const pro = { id: 'acme', plan: 'pro' }
    const running = await app.limiter.consume(pro)
    const large = await app.limiter.consume(pro, { cost: 119 })
    large.release()
    const { stdout } = await app.run('show', 'acme', '--plan', 'pro')
    expect(stdout).toMatch(/^month +100 per month +100 +100% +0 +20 /m)
    expect(stdout).toMatch(/^concurrent +2 at a time +1 in flight +50% +1/m)
    expect(stdout).toMatch(/^month, now +\w{3} 1 \w{3} 00:00 +\w{3} 1 \w{3} .*120 +20$/m)
    running.release()
    await app.limiter.topUp(pro, { limit: 'month', units: 500, for: '1d', key: 'order-1' })
    const { limits, usage } = await app.json('show', 'acme', '--plan', 'pro')
    expect(limits[0]).toMatchObject({ toppedUp: 500, over: 20 })
    expect(usage[0]?.running).toMatchObject({ used: 120, over: 20 })
  })

  test('has units that are held', async () => {
    await app.limiter.consume(acme)
    await app.limiter.reserve(acme, { cost: 2, for: '10min' })
    const { stdout } = await app.run('show', 'acme')
    expect(stdout).toMatch(/^LIMIT +QUOTA +USED +HELD +LEFT +MORE IN$/m)
    expect(stdout).toMatch(/^hour +5 per h +3 +60% +2 +2 +/m)
    expect(stdout).toMatch(/^month +1,000 per month +3 +0% +2 +997 +/m)
    expect(stdout).toMatch(/^HELD is the part of USED that no request has used yet/m)
    expect((await app.json('show', 'acme')).limits).toMatchObject([{ held: 2 }, { held: 2 }])
  })

  test('has the limits of a customer that a rule blocks, as an override makes them', async () => {
    for (let i = 0; i < 3; i += 1) await app.limiter.consume(acme)
    await app.limiter.override('acme', { factor: 2, for: '1h' })
    await app.limiter.block('acme', { for: '1h' })
    const { stdout } = await app.run('show', 'acme')
    expect(stdout).toMatch(/^Blocked until .* UTC \(.*\)\.$/m)
    expect(stdout).toMatch(/^hour +10 per h +3 +30% +7 /m)
    expect((await app.rules()).map(({ kind }) => kind)).toEqual(['override', 'block'])
  })

  test('knows plans without limits', async () => {
    expect((await app.run('show', 'acme', '--plan', 'staff')).stdout).toContain('Its plan has no limits.')
    expect((await app.run('show', 'acme', '--plan', 'off')).stdout).toContain(
      "Blocked, because its plan is 'blocked'.",
    )
  })

  test('is not counted as a process of the application', async () => {
    const prefix = testPrefix()
    const heard = await hearCommands(testRedisUrl())
    await app.run('show', 'acme', '--prefix', prefix)
    await app.redis.get(`${prefix}/end`)
    await eventually(() => heard.text().includes(`${prefix}/end`), 'all commands are heard')
    heard.stop()
    expect(heard.text()).toContain(`${prefix}/!rules`)
    expect(heard.text()).not.toContain(`${prefix}/!instances`)
  })

  test('says for an id that nobody knows that no process is there', async () => {
    const { stdout } = await app.run(
      'show',
      'acme',
      '--plans',
      'tollgate.config.mjs',
      '--prefix',
      testPrefix(),
    )
    expect(stdout).toContain('No process of the application had a request here in the last half minute')
  })

  test('says that planOf of the plans file failed, and why', async () => {
    const folder = folderWith({
      'tollgate.config.mjs': `export default { plans: { free: '5/h', pro: '50/h' }, defaultPlan: 'free', planOf() { throw new Error('no database') } }`,
    })
    const surroundings = { env: { REDIS_URL: testRedisUrl() }, cwd: folder.cwd }
    const { code, stdout } = await tollgate(['show', 'acme', '--prefix', app.prefix], surroundings)
    folder.remove()
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^Its plan was not found, so these are the limits of the default plan: .*no database/m,
    )
  })

  test('refuses a plan that there is not', async () => {
    const { code, stderr } = await app.run('show', 'acme', '--plan', 'gold')
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "--plan: there is no plan 'gold' in tollgate.config.mjs. They are free, pro, off, staff.\n",
    })
  })
})

describe('bookings', () => {
  const order = ['--plan', 'free', '--limit', 'month', '--key', 'order-17']

  test('top up a customer once, however often the command is repeated', async () => {
    const args = ['top-up', 'acme', ...order, '--units', '500', '--for', '30d']
    const first = await app.run(...args)
    expect(first.stdout).toContain(
      "Gives acme 500 units beside the quota of its limit 'month', for 30d. Key: order-17.",
    )
    expect(first.stdout).toContain('Left of month: 1,500 units, 500 of them topped up')
    const second = await app.run(...args)
    expect(second).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('was booked before, so nothing was changed'),
    })
    const other = await app.run('top-up', 'acme', ...order, '--units', '600', '--for', '30d')
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('booked with other values') })
    expect((await app.limiter.peek(acme)).limits[1]?.remaining).toBe(1500)
    // To penalize would use the quota, and leave what was bought for the next month.
    expect(first.stdout).toContain('No command takes a top-up back')
  })

  test('renew a limit, penalize a customer, and reset it', async () => {
    await app.limiter.consume(acme, { cost: 5 })
    expect((await app.run('renew', 'acme', ...order)).code).toBe(0)
    expect((await app.limiter.peek(acme)).limits.map(({ used }) => used)).toEqual([5, 0])
    await app.run(
      'penalize',
      'acme',
      '--plan',
      'free',
      '--limit',
      'month',
      '--units',
      '40',
      '--key',
      'abuse-3',
    )
    expect((await app.limiter.peek(acme)).limits[1]?.used).toBe(40)
    expect((await app.run('reset', 'acme')).code).toBe(0)
    expect((await app.limiter.peek(acme)).limits.map(({ used }) => used)).toEqual([0, 0])
    expect(await app.run('reset', 'acme')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('nothing to forget'),
    })
  })

  test('count in the months of its billing day, which show has, too', async () => {
    // Ten days from now at the earliest, and no month lacks it.
    const anchor = (new Date().getUTCDate() + 9) % 28 || 28
    const day = ['--anchor', `${anchor}`, '--time-zone', 'Asia/Tokyo']
    expect((await app.run('penalize', 'acme', ...order, '--units', '40', ...day)).code).toBe(0)
    const billed = { ...acme, anchor, timeZone: 'Asia/Tokyo' }
    const { running } = await app.limiter.usageOf(billed, { limit: 'month' })
    expect(running).toMatchObject({ used: 40 })
    // Midnight in Tokyo.
    expect([running?.from.getUTCHours(), running?.until.getUTCHours()]).toEqual([15, 15])
    const shown = await app.json('show', 'acme', '--plan', 'free', ...day)
    expect(shown.usage[0]?.running).toMatchObject({
      from: running?.from.toISOString(),
      until: running?.until.toISOString(),
    })
    const wrong = await app.run('renew', 'acme', ...order, '--anchor', '2026-02-30', '--time-zone', 'Mars')
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--anchor: got '2026-02-30', /) })
    const nowhere = await app.run('renew', 'acme', ...order, '--time-zone', 'Mars')
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringMatching(/^--time-zone: got 'Mars', /) })
    const unplanned = await app.run('renew', 'acme', '--limit', 'month', '--key', 'k', ...day)
    expect(unplanned.stderr).toContain('Which plan is it? There are several: free, pro, off, staff.')
  })

  test('reset groups and stacked limits that are named', async () => {
    const scope = app.limiter.scope({ group: 'exports', stacked: { login: '9/h' } })
    await scope.consume(acme)
    const used = async (): Promise<number[]> => (await scope.peek(acme)).limits.map((one) => one.used)
    await app.run('reset', 'acme')
    expect(await used()).toEqual([1, 1, 1])
    await app.run('reset', 'acme', '--group', 'exports', '--stacked', 'login')
    expect(await used()).toEqual([0, 0, 0])
  })

  test('say the plan of the customer, and warn of another one', async () => {
    await app.limiter.consume(acme)
    await app.limiter.traffic()
    const args = ['top-up', 'acme', '--limit', 'month', '--units', '5', '--for', '1d', '--dry-run', '--key']
    expect((await app.run(...args, 'a')).stdout).toContain('acme is on the plan free.')
    expect((await app.run(...args, 'b', '--plan', 'free')).stdout).not.toContain('on the plan')
    expect((await app.run(...args, 'c', '--plan', 'pro')).stdout).toContain(
      'Careful: acme is on the plan free, and not on pro.',
    )
  })

  test('ask for the plan where there are several', async () => {
    const { code, stderr } = await app.run('renew', 'acme', '--limit', 'month', '--key', 'k')
    expect(code).toBe(2)
    expect(stderr).toContain('Which plan is it? There are several: free, pro, off, staff.')
  })

  test('change nothing in a dry run, and refuse what the real call would refuse', async () => {
    expect((await app.run('penalize', 'acme', ...order, '--units', '40', '--dry-run')).code).toBe(0)
    expect((await app.limiter.peek(acme)).limits[1]?.used).toBe(0)
    const wrong = await app.run(
      'penalize',
      'acme',
      '--plan',
      'free',
      '--limit',
      'mont',
      '--units',
      '4',
      '--key',
      'k',
      '--dry-run',
    )
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("--limit: got 'mont'") })
  })
})
