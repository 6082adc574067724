// Each series has the name of its limiter. Limiters with one name are one series.
import { createLimiter, type Limiter } from '@tollgate/core'
import { instrument, instrumentAll, type Instrumentation } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

let collected: Collected
let begun: Instrumentation[]
let limiters: Limiter[]

beforeEach(() => {
  collected = collect()
  begun = []
  limiters = []
})
afterEach(async () => {
  for (const { stop } of begun) stop()
  await Promise.all([collected.close(), ...limiters.map((limiter) => limiter.close())])
})

function named(name?: string): Limiter {
  const limiter = createLimiter({ plans: { free: ['3/min', '2 concurrent'] }, name })
  limiters.push(limiter)
  return limiter
}

const begin = {
  instrument: (): void => {
    for (const limiter of limiters) begun.push(instrument(limiter, { meterProvider: collected.provider }))
  },
  instrumentAll: (): void => void begun.push(instrumentAll({ meterProvider: collected.provider })),
}

const of = (name: string): Record<string, string> => ({ 'tollgate.limiter.name': name })

describe.each(['instrument', 'instrumentAll'] as const)('%s', (how) => {
  test('limiters with different names have their own series, also of current values', async () => {
    const [api, jobs] = [named('api'), named('jobs')]
    begin[how]()
    const held = [await api.consume('acme'), await api.consume('globex'), await jobs.consume('acme')]
    for (const name of ['tollgate.decisions', 'tollgate.request.inflight']) {
      expect([await collected.sum(name, of('api')), await collected.sum(name, of('jobs'))]).toEqual([2, 1])
    }
    for (const decision of held) decision.release()
    expect(await collected.sum('tollgate.request.inflight', of('api'))).toBe(0)
  })

  test('limiters with one name are summed', async () => {
    const [one, other] = [named('api'), named('api')]
    begin[how]()
    await Promise.all([one.consume('acme'), one.consume('globex'), other.consume('acme')])
    expect(await collected.sum('tollgate.decisions', of('api'))).toBe(3)
    expect(await collected.sum('tollgate.request.inflight', of('api'))).toBe(3)
    const ok = { ...of('api'), 'tollgate.limiter.state': 'ok' }
    expect(await collected.sum('tollgate.limiter.status', ok)).toBe(2)
    await one.close()
    expect(await collected.sum('tollgate.limiter.status', ok)).toBe(1)
  })

  test('a limiter without a name is called default, and every series has a name', async () => {
    const limiter = named()
    begin[how]()
    await limiter.consume('acme')
    const all = (await collected.all()).flatMap(({ metrics }) => metrics)
    expect(all.length).toBeGreaterThan(10)
    for (const { descriptor, dataPoints } of all) {
      for (const { attributes } of dataPoints)
        expect([descriptor.name, attributes['tollgate.limiter.name']]).toEqual([descriptor.name, 'default'])
    }
  })
})

test('stop of one leaves the other of the same name', async () => {
  const [one, other] = [named('api'), named('api')]
  begin.instrument()
  await Promise.all([one.consume('acme'), other.consume('acme'), other.consume('globex')])
  begun[0]?.stop()
  expect(await collected.sum('tollgate.request.inflight', of('api'))).toBe(2)
  await one.consume('initech')
  await other.consume('initech')
  expect(await collected.sum('tollgate.decisions', of('api'))).toBe(4)
})
