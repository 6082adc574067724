import type { Decision } from '@tollgate/core'
import { startMemcached, type MemcachedServer } from '@tollgate/testing'
import { allowed, consumeAll, newPrefix, Processes } from './support.ts'

let server: MemcachedServer
const processes = new Processes()

beforeAll(async () => {
  server = await startMemcached()
})
afterEach(() => processes.stop())
afterAll(() => server.kill())

const HOUR_MS = 3_600_000
/** In the middle of an hour, a day and a month. */
const NOON = Date.UTC(2026, 9, 14, 12, 30)

describe('a limit on Memcached', () => {
  test.each(['sliding-window', 'fixed-window'] as const)(
    'that is a %s lets in its quota and no more, from four processes at once',
    async (algorithm) => {
      const prefix = newPrefix()
      const options = { limit: { quota: 100, window: '10 h', algorithm } }
      const four = Array.from({ length: 4 }, () => processes.start(server.address, options, { prefix }))
      const decisions = await Promise.all(four.map((one) => consumeAll(one, 'acme', 200)))
      expect(allowed(decisions.flat())).toBeLessThanOrEqual(100)
      // A request may be denied while another that does not fit is decided. Afterwards all that is left is found.
      const later: Decision[] = []
      for (const one of four) for (let i = 0; i < 100; i += 1) later.push(await one.consume('acme'))
      expect(allowed(decisions.flat()) + allowed(later)).toBe(100)
    },
  )

  test('that names no algorithm is a sliding window of two counters', async () => {
    let now = NOON
    const clock = { prefix: newPrefix(), now: () => now }
    const limiter = processes.start(server.address, { limit: '100/h' }, clock)
    expect(allowed(await consumeAll(limiter, 'acme', 100))).toBe(100)
    now += HOUR_MS / 2 + 1000
    const [denied] = await consumeAll(limiter, 'acme', 1)
    // All 100 of the hour before count, but for the second that has passed.
    expect(denied).toMatchObject({ allowed: false, retryAfterMs: 36_000 - 1000 })
    now += 36_000 - 1000
    expect(allowed(await consumeAll(limiter, 'acme', 2))).toBe(1)
    now += HOUR_MS / 4
    expect((await limiter.peek('acme')).limits[0]).toMatchObject({ remaining: 25 - 1 + 1 })
  })

  test('of any number of minutes holds: 10 000 in 15 min', async () => {
    let now = NOON
    const clock = { prefix: newPrefix(), now: () => now }
    const limiter = processes.start(server.address, { limit: '10000 per 15 min' }, clock)
    const [first] = await consumeAll(limiter, 'acme', 1, 9999)
    expect(first?.limits).toEqual([
      {
        name: '15-minutes',
        quota: 10_000,
        windowMs: 900_000,
        used: 9999,
        remaining: 1,
        resetMs: expect.any(Number),
      },
    ])
    expect(allowed(await consumeAll(limiter, 'acme', 5))).toBe(1)
    now += 15 * 60_000
    const [full] = await consumeAll(limiter, 'acme', 1)
    expect(full?.allowed).toBe(false)
    now += full?.retryAfterMs ?? 0
    expect(allowed(await consumeAll(limiter, 'acme', 2))).toBeGreaterThan(0)
  })

  test('on the calendar is kept for longer than 30 days, and begins anew with the month', async () => {
    let now = Date.UTC(2026, 9, 1, 0, 0, 1)
    const clock = { prefix: newPrefix(), now: () => now }
    const limiter = processes.start(server.address, { limit: '5/month' }, clock)
    expect(allowed(await consumeAll(limiter, 'acme', 9))).toBe(5)
    now = Date.UTC(2026, 9, 31, 23, 59, 59)
    expect(await limiter.consume('acme')).toMatchObject({ allowed: false, retryAfterMs: 1000 })
    now += 1000
    expect(allowed(await consumeAll(limiter, 'acme', 9))).toBe(5)
  })

  test('takes from all limits of a plan, or from none', async () => {
    const plans = { pro: ['10/h', { quota: 4, window: '1 d', algorithm: 'fixed-window' }] } as const
    const limiter = processes.start(server.address, { plans })
    const decisions: Decision[] = []
    for (let i = 0; i < 6; i += 1) decisions.push(await limiter.consume('acme'))
    expect(decisions.map((decision) => decision.allowed)).toEqual([true, true, true, true, false, false])
    expect(decisions.at(-1)?.limits.map(({ remaining }) => remaining)).toEqual([6, 0])
    expect(decisions.at(-1)?.violated).toEqual(['day'])
  })

  test('counts on when the plan changes, and keeps windows of other lengths apart', async () => {
    const plans = { free: '5/h', pro: ['50/h', '6/d'] } as const
    const limiter = processes.start(server.address, { plans, defaultPlan: 'free' })
    await consumeAll(limiter, 'acme', 3)
    const { limits } = await limiter.consume({ id: 'acme', plan: 'pro' })
    expect(limits.map(({ used }) => used)).toEqual([4, 1])
    expect((await limiter.peek('acme')).limits[0]).toMatchObject({ used: 4, remaining: 1 })
  })

  test('gives units back, never below nothing, once for a decision', async () => {
    const limiter = processes.start(server.address, { limit: '10/h' })
    const decision = await limiter.consume('acme', { cost: 4 })
    expect(await limiter.settle(decision, 1)).toBe(1)
    expect((await limiter.peek('acme')).limits[0]).toMatchObject({ used: 1 })
    const second = await limiter.consume('acme')
    await limiter.reset('acme')
    expect(await limiter.refund(second)).toBe(false)
    expect((await limiter.peek('acme')).limits[0]).toMatchObject({ used: 0 })
    expect(allowed(await consumeAll(limiter, 'acme', 12))).toBe(10)
  })

  test('forgets a subject in all processes', async () => {
    const prefix = newPrefix()
    const [one, other] = [0, 1].map(() => processes.start(server.address, { limit: '5/h' }, { prefix }))
    await consumeAll(one!, 'acme', 5)
    expect(allowed(await consumeAll(other!, 'acme', 1))).toBe(0)
    expect([await one!.reset('acme'), await one!.reset('acme')]).toEqual([true, false])
    expect(allowed(await consumeAll(other!, 'acme', 9))).toBe(5)
  })

  test('gives back at once from many processes what was used, and no more', async () => {
    const prefix = newPrefix()
    const limit = { quota: 100, window: '10 h', algorithm: 'fixed-window' } as const
    const six = Array.from({ length: 6 }, () => processes.start(server.address, { limit }, { prefix }))
    await consumeAll(six[0]!, 'acme', 20)
    await Promise.all([...six.map((one) => one.refund('acme', 20)), six[1]!.reset('acme')])
    const decisions = await Promise.all(six.map((one) => consumeAll(one, 'acme', 100)))
    expect(allowed(decisions.flat())).toBeLessThanOrEqual(100)
    const later: Decision[] = []
    for (let i = 0; i < 100; i += 1) later.push(await six[i % 6]!.consume('acme'))
    expect(allowed([...decisions.flat(), ...later])).toBe(100)
  })

  test('is shared by the month also where a test sets a clock of long ago', async () => {
    const clock = { prefix: newPrefix(), now: () => Date.UTC(2020, 0, 1, 0, 0, 1) }
    const [one, other] = [0, 1].map(() => processes.start(server.address, { limit: '5/month' }, clock))
    expect(allowed(await consumeAll(one!, 'acme', 3))).toBe(3)
    expect(allowed(await consumeAll(other!, 'acme', 5))).toBe(2)
  })

  test('costs more than the quota together, and never lets in more', async () => {
    const prefix = newPrefix()
    const limit = { quota: 10_000_000_000, window: '10 h', algorithm: 'fixed-window' } as const
    const eight = Array.from({ length: 8 }, () => processes.start(server.address, { limit }, { prefix }))
    const decisions = await Promise.all(eight.map((one) => consumeAll(one, 'acme', 128, 4_000_000_000)))
    expect(allowed(decisions.flat())).toBeLessThanOrEqual(2)
  })

  test('lets in what fits although others that do not fit are decided at the same moment', async () => {
    const prefix = newPrefix()
    const limit = { quota: 10, window: '10 h', algorithm: 'fixed-window' } as const
    const [one, other] = [0, 1].map(() => processes.start(server.address, { limit }, { prefix }))
    await Promise.all([one!.consume('warm'), other!.consume('warm')])
    for (let round = 0; round < 20; round += 1) {
      const id = `acme-${round}`
      await one!.consume(id, { cost: 8 })
      const [, fits] = await Promise.all([other!.consume(id, { cost: 3 }), one!.consume(id, { cost: 2 })])
      // Denied by the other's units: these have gone back by the time of the next request.
      expect(fits.allowed || (await one!.consume(id, { cost: 2 })).allowed).toBe(true)
    }
  })

  test('has room for any id: long, binary, with spaces or line ends, each by itself', async () => {
    const limiter = processes.start(server.address, { limit: '2/h' })
    const ids = [
      'a b',
      'a\r\nget x',
      'a\nb',
      '{a}',
      '__proto__',
      'x'.repeat(250),
      'x'.repeat(1_000_000),
      '\u0000\u0001',
      'é',
      'e\u0301',
      '\ud800',
      '\ud801',
      '%',
      '#',
      '=',
      'a:b',
      'a*b',
      'a!b',
      'incr k 1',
      '.',
    ]
    for (const id of ids) expect(allowed(await consumeAll(limiter, id, 3))).toBe(2)
  })

  test('asks in one trip: a command a request, and none more for what it denies', async () => {
    const clock = { prefix: newPrefix(), now: () => NOON }
    const limiter = processes.start(server.address, { limit: '1000/h' }, clock)
    const before = await commandsOf(server)
    for (let i = 0; i < 500; i += 1) await limiter.consume('acme')
    // And the counter of the hour before, once.
    expect((await commandsOf(server)) - before).toBeLessThanOrEqual(501)
    await consumeAll(limiter, 'acme', 600)
    const full = await commandsOf(server)
    for (let i = 0; i < 100; i += 1) await limiter.consume('acme')
    expect((await commandsOf(server)) - full).toBe(100)
  })

  test('merges requests of one subject that come at once', async () => {
    const clock = { prefix: newPrefix(), now: () => NOON }
    const limiter = processes.start(server.address, { limit: '10000/h' }, clock)
    await limiter.consume('acme')
    const before = await commandsOf(server)
    expect(allowed(await consumeAll(limiter, 'acme', 1280))).toBe(1280)
    expect((await commandsOf(server)) - before).toBeLessThan(100)
  })
})

/** How many counters were changed or read. */
async function commandsOf({ port }: MemcachedServer): Promise<number> {
  const { connect } = await import('node:net')
  const text = await new Promise<string>((resolve, reject) => {
    let all = ''
    const socket = connect(port, '127.0.0.1', () => socket.write('stats\r\n'))
    socket.on('error', reject)
    socket.on('data', (data) => {
      all += String(data)
      if (!all.includes('END')) return
      socket.destroy()
      resolve(all)
    })
  })
  const names = ['cmd_get', 'cmd_set', 'cmd_meta', 'incr_hits', 'incr_misses', 'decr_hits']
  return names
    .map((name) => Number(new RegExp(`STAT ${name} (\\d+)`).exec(text)?.[1] ?? 0))
    .reduce((sum, one) => sum + one, 0)
}
