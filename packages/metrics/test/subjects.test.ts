import { createLimiter, type Limiter, type Subject } from '@tollgate/core'
import { instrument, type Instrumentation, type InstrumentOptions } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let collected: Collected
let limiter: Limiter
let instrumentation: Instrumentation

const start = (options: InstrumentOptions = {}): void => {
  instrumentation = instrument(limiter, { meterProvider: collected.provider, ...options })
}

/** Sends requests one after another. */
const ask = async (times: number, subject: Subject): Promise<void> => {
  for (let i = 0; i < times; i += 1) await limiter.consume(subject)
}

beforeEach(() => {
  collected = collect()
  limiter = createLimiter({ plans: { free: '3/min', pro: '1000/min' }, defaultPlan: 'free' })
})

afterEach(async () => {
  instrumentation.stop()
  await Promise.all([collected.close(), limiter.close()])
})

function fail(): never {
  throw new Error('broken')
}

test('labels from requests cannot create limits without end', async () => {
  start()
  for (let i = 0; i < 1200; i += 1) {
    await limiter.consume([
      { id: 'pro', plan: 'pro' },
      { id: 'free', plan: 'free', label: `label ${i}` },
    ])
  }
  const points = await collected.points('tollgate.limit.violations')
  expect(points).toHaveLength(1001)
  // Three requests passed.
  expect(await collected.sum('tollgate.limit.violations', { 'tollgate.limit.name': '_OTHER' })).toBe(197)
  expect(await collected.sum('tollgate.limit.violations')).toBe(1197)
})

describe('subjects', () => {
  const seen = async (): Promise<unknown[]> => [
    ...new Set(
      (await collected.counted('tollgate.decisions')).map(([point]) => point['tollgate.subject.id']),
    ),
  ]

  test('are not an attribute by default', async () => {
    start()
    await ask(5, { id: 'acme', plan: 'free' })
    expect(JSON.stringify(await collected.all())).not.toContain('acme')
  })

  test('are an attribute on request, except client addresses', async () => {
    start({ subjectAttribute: true })
    await ask(4, { id: 'acme', plan: 'free' })
    await ask(1, { id: 7 as unknown as string, plan: 'pro' })
    await ask(1, { id: '192.0.2.7', kind: 'ip' })
    expect((await seen()).toSorted()).toEqual(['7', 'acme', undefined])
    const acme = { 'tollgate.subject.id': 'acme' }
    expect(await collected.sum('tollgate.decisions', acme)).toBe(4)
    expect(await collected.sum('tollgate.units', acme)).toBe(4)
    expect(await collected.sum('tollgate.limit.violations', acme)).toBe(1)
  })

  test('have the value that a function returns, cut to its longest length', async () => {
    start({ subjectAttribute: ({ id }) => (id === 'small' ? undefined : `key of ${id}`) })
    await ask(1, { id: 'small', plan: 'pro' })
    await ask(2, { id: 'large', plan: 'pro' })
    await ask(1, { id: 'x'.repeat(1_000_000), plan: 'pro' })
    expect((await seen()).map((id) => String(id).length).toSorted((a, b) => a - b)).toEqual([9, 12, 128])
    expect(await collected.sum('tollgate.decisions', { 'tollgate.subject.id': 'key of large' })).toBe(2)
  })

  test('add up over several turns', async () => {
    start({ subjectAttribute: true })
    for (let turn = 0; turn < 3; turn += 1) {
      for (let i = 0; i < 10; i += 1) void limiter.consume({ id: `t${i % 2}`, plan: 'pro' })
      await new Promise(setImmediate)
    }
    const counts = (await collected.counted('tollgate.decisions')).map(([, value]) => value)
    expect(counts).toEqual([15, 15])
  })

  test('a promise of another library has somebody who hears of its rejection', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const then = jest.fn()
    start({ subjectAttribute: () => ({ then }) as never })
    await ask(1, { id: 'globex', plan: 'pro' })
    expect(await seen()).toEqual([undefined])
    expect(then).toHaveBeenCalledWith(expect.any(Function), expect.any(Function))
    warn.mockRestore()
  })

  test.each<[string, unknown]>([
    ['throws', () => fail()],
    ['rejects', async () => fail()],
    ['gives a number', () => 7],
    ['gives null', () => null],
  ])('are left out where the function %s, with one warning', async (_, subjectAttribute) => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {})
    start({ subjectAttribute } as InstrumentOptions)
    await ask(3, { id: 'globex', plan: 'pro' })
    expect(await seen()).toEqual([undefined])
    expect(await collected.sum('tollgate.decisions')).toBe(3)
    expect(warn).toHaveBeenCalledTimes(1)
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('Metrics'), {
      type: 'TollgateWarning',
      code: 'TOLLGATE_METRICS',
    })
    warn.mockRestore()
  })
})
