// What is told of leases: the event, its channel, and the counts.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { channelFor } from '../../../src/adapter.js'
import { Reporter, StoreWarning } from '../../../src/limiter/report/reporter.js'
import { type LeaseChange, LeaseReporter } from '../../../src/features/leases/lease-reporter.js'
import { createLimiter } from '../../../src/index.js'
import { Events } from '../../../src/limiter/report/events.js'
import { findWeakest, CountedDecision } from '../../../src/limiter/decision/counted-decision.js'
import type { Verdict } from '../../../src/requests/request.js'
import { asServedFromLease } from '../../support/leased.js'

const warn = jest.fn()
const events = new Events({}, warn)
const reporter = (): LeaseReporter => new LeaseReporter((given) => events.emit('lease', given))
const change = (kind: LeaseChange['kind'], units: number): LeaseChange => ({
  kind,
  subject: { id: 'acme' },
  plan: 'pro',
  units,
})
const NONE = { granted: 0, refused: 0, renewals: 0, units: 0, used: 0, returned: 0, lost: 0, held: 0 }

test('a limiter has leased nothing at first', () => {
  expect(createLimiter({ limit: '5/min' }).stats()).toMatchObject({
    leases: NONE,
    decisions: { lease: { allowed: 0, denied: 0 } },
  })
})

test('each kind of change is counted by its leases or its units', () => {
  const told = reporter()
  told.lease(change('granted', 100))
  told.lease(change('granted', 50), true)
  told.lease(change('refused', 0), true)
  told.leaseUsed(30)
  told.leaseUsed(12)
  told.lease(change('returned', 20))
  told.lease(change('returned', 5))
  told.lease(change('lost', 7))
  told.lease(change('lost', 0))
  expect(told.stats(3)).toEqual({
    granted: 2,
    refused: 1,
    renewals: 1,
    units: 150,
    used: 42,
    returned: 25,
    lost: 7,
    held: 3,
  })
})

test('counts that were read do not change afterwards', () => {
  const told = reporter()
  const before = told.stats(0)
  told.lease(change('granted', 100))
  expect(before).toEqual(NONE)
})

test('listeners and subscribers of the channel get the change', () => {
  const heard: unknown[] = []
  const listener = (given: LeaseChange): void => void heard.push(given)
  const subscriber = (message: unknown): void => void heard.push(message)
  events.on('lease', listener)
  subscribe(channelFor('lease'), subscriber)
  reporter().lease(change('returned', 20))
  unsubscribe(channelFor('lease'), subscriber)
  events.off('lease', listener)
  reporter().lease(change('returned', 30))
  const told = change('returned', 20)
  expect(channelFor('lease')).toBe('tollgate:lease')
  expect(heard).toEqual([told, { limiter: {}, ...told }])
})

test('a limiter takes listeners of leases', () => {
  const limiter = createLimiter({ limit: '5/min' })
  const listener = ({ units }: LeaseChange): number => units
  expect(limiter.on('lease', listener).off('lease', listener)).toBe(limiter)
})

test('a decision from a lease is counted under its source', async () => {
  const told = new Reporter(events, new StoreWarning(warn, 'local'))
  const decision = await createLimiter({ limit: '5/min' }).consume('acme')
  told.decision(asServedFromLease(decision), undefined, undefined)
  expect(told.stats().decisions).toMatchObject({
    lease: { allowed: 1, denied: 0 },
    store: { allowed: 0 },
  })
})

test('of several verdicts one from a lease is as strong as one of the store', async () => {
  const step = CountedDecision.requestOf(
    (await createLimiter({ limit: '5/min' }).consume('acme')) as CountedDecision,
  )
  const of = (source: Verdict['source']): Verdict => ({ source, allowed: true, step })
  const weakest = (...sources: Verdict['source'][]): string => findWeakest(sources.map(of)).source
  expect([weakest('lease', 'store'), weakest('store', 'lease')]).toEqual(['lease', 'store'])
  expect(['local', 'open', 'unlimited'].map((source) => weakest('lease', source as 'local'))).toEqual([
    'local',
    'open',
    'unlimited',
  ])
})
