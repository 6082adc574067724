// Leases are read from the counts of a limiter when metrics are collected.
import { createLimiter, type Limiter, type LimiterStats } from '@tollgate/core'
import { instrument, instrumentAll } from '../src/index.js'
import { collect, type Collected } from './collect.ts'

const NONE: LimiterStats['leases'] = {
  granted: 0,
  refused: 0,
  renewals: 0,
  units: 0,
  used: 0,
  returned: 0,
  lost: 0,
  held: 0,
}

let collected: Collected
beforeEach(() => {
  collected = collect()
})
afterEach(() => collected.close())

/** A limiter whose counts of leases a test sets. */
function leasing(): { limiter: Limiter; counts: (leases: Partial<LimiterStats['leases']>) => void } {
  const limiter = createLimiter({ limit: '100/min' })
  let leases = NONE
  const stats = limiter.stats.bind(limiter)
  jest.spyOn(limiter, 'stats').mockImplementation((): LimiterStats => ({ ...stats(), leases }))
  return { limiter, counts: (changed) => void (leases = { ...leases, ...changed }) }
}

const units = async (): Promise<Record<string, number>> =>
  Object.fromEntries(
    (await collected.points('tollgate.lease.units')).map(([attributes, value]) => [
      String(attributes['tollgate.lease.change']),
      value,
    ]),
  )

test('counters grow by what was leased since the last collection, held is of now', async () => {
  const { limiter, counts } = leasing()
  counts({ units: 40, used: 40, granted: 1 })
  const { stop } = instrument(limiter, { meterProvider: collected.provider })
  expect([await units(), await collected.sum('tollgate.lease.renewals')]).toEqual([{ lost: 0 }, 0])
  counts({ units: 140, used: 90, granted: 3, renewals: 2, held: 1 })
  expect(await units()).toEqual({ granted: 100, used: 50, lost: 0 })
  expect(await collected.sum('tollgate.lease.held')).toBe(1)
  counts({ used: 100, returned: 25, lost: 15, held: 0 })
  expect(await units()).toEqual({ granted: 100, used: 60, returned: 25, lost: 15 })
  expect(await units()).toEqual({ granted: 100, used: 60, returned: 25, lost: 15 })
  expect(await collected.sum('tollgate.lease.renewals')).toBe(2)
  expect(await collected.sum('tollgate.lease.held')).toBe(0)
  stop()
})

test('what was leased since the last collection is added at stop, and nothing after it', async () => {
  const { limiter, counts } = leasing()
  const { stop } = instrument(limiter, { meterProvider: collected.provider })
  counts({ units: 100, used: 30 })
  stop()
  counts({ units: 900, used: 700 })
  stop()
  expect(await units()).toEqual({ granted: 100, used: 30, lost: 0 })
})

test('those of all limiters are added together, also after one was closed', async () => {
  const { stop } = instrumentAll({ meterProvider: collected.provider })
  const [one, other] = [leasing(), leasing()]
  await Promise.all([one, other].map(({ limiter }) => limiter.consume('acme')))
  one.counts({ units: 100, used: 60, held: 2 })
  other.counts({ units: 10, used: 6, held: 1 })
  expect([await units(), await collected.sum('tollgate.lease.held')]).toEqual([
    { granted: 110, used: 66, lost: 0 },
    3,
  ])
  one.counts({ returned: 40, held: 0 })
  await one.limiter.close()
  for (let i = 0; i < 3; i += 1) {
    expect(await units()).toEqual({ granted: 110, used: 66, returned: 40, lost: 0 })
  }
  expect(await collected.sum('tollgate.lease.held')).toBe(1)
  stop()
})

test('have the attributes of the user', async () => {
  const { limiter, counts } = leasing()
  const attributes = { 'service.namespace': 'shop' }
  const { stop } = instrument(limiter, { meterProvider: collected.provider, attributes })
  counts({ units: 5, renewals: 1, held: 1 })
  for (const name of ['tollgate.lease.units', 'tollgate.lease.renewals', 'tollgate.lease.held']) {
    for (const [given] of await collected.points(name)) expect(given).toMatchObject(attributes)
    expect(await collected.sum(name, attributes)).toBeGreaterThan(0)
  }
  stop()
})
