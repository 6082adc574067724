// Law 11 for what is held: whatever reply is lost, units count once, and none stays held that nobody knows of.
import { eventually } from '@tollgate/testing'
import { createLimiter, memoryStore, type Limiter, type Store } from '../../../src/index.js'
import type { Grant, StoreRequest } from '../../../src/stores/contract.js'
import { asyncStore } from '../../support/stores.js'

const limiters: Limiter[] = []
afterEach(async () => {
  await Promise.all(limiters.splice(0).map((limiter) => limiter.close()))
})

/** A store that decides, and then loses the next answers to requests of one grant. */
class Lossy {
  toLose = 0
  lost = 0
  readonly inner = memoryStore()
  readonly store: Store
  readonly reports: StoreRequest[] = []

  constructor(grant: Grant, lose: () => Promise<never>) {
    this.store = asyncStore(
      {
        consume: async (batch) => {
          this.reports.push(...batch.filter((request) => request.grant === 'lease'))
          const answers = this.inner.consume(batch)
          if (this.toLose === 0 || !batch.some((request) => request.grant === grant)) return answers
          this.toLose -= 1
          this.lost += 1
          return lose()
        },
      },
      this.inner,
    )
  }

  limiter(): Limiter {
    const limiter = createLimiter({
      plans: { pro: '100/h', line: { limits: '100/min', wait: { maxDelay: '1min' } } },
      defaultPlan: 'pro',
      store: this.store,
      onStoreFailure: 'closed',
      deadlineMs: 100,
      warnings: false,
    })
    limiters.push(limiter)
    return limiter
  }
}

const ways: [string, () => Promise<never>][] = [
  ['never comes', () => new Promise(() => {})],
  ['is an error', () => Promise.reject(new Error('reset by peer'))],
]
const leftOf = async (limiter: Limiter, plan = 'pro'): Promise<number> =>
  (await limiter.peek({ id: 'acme', plan })).limits[0]?.remaining ?? -1

describe.each(ways)('a reply that %s', (_, lose) => {
  test('to a commit: it is repeated, and counts once', async () => {
    const lossy = new Lossy('lease', lose)
    const limiter = lossy.limiter()
    const held = await limiter.reserve('acme', { cost: 60, for: '1min' })
    lossy.toLose = 2
    expect(await held.commit(10)).toBe(10)
    await eventually(() => lossy.reports.length >= 3)
    expect(lossy.lost).toBe(2)
    expect(await leftOf(limiter)).toBe(90)
    expect(new Set(lossy.reports.map(({ order }) => JSON.stringify(order))).size).toBe(1)
  })

  test('to a cancel: it is repeated, and the units come back', async () => {
    const lossy = new Lossy('lease', lose)
    const limiter = lossy.limiter()
    const held = await limiter.reserve('acme', { cost: 60, for: '1min' })
    lossy.toLose = 1
    expect(await held.cancel()).toBe(false)
    await eventually(() => lossy.reports.length >= 2)
    expect(await leftOf(limiter)).toBe(100)
  })

  test('to a reservation: what nobody knows of is given back', async () => {
    const lossy = new Lossy('all', lose)
    const limiter = lossy.limiter()
    lossy.toLose = 1
    expect((await limiter.reserve('acme', { cost: 60, for: '1h' })).decision.source).toBe('closed')
    await eventually(async () => expect(await leftOf(limiter)).toBe(100))
  })

  test('to a request for a place: the failure policy decides, and the place is given back', async () => {
    const lossy = new Lossy('all', lose)
    const limiter = lossy.limiter()
    const subject = { id: 'acme', plan: 'line' }
    await limiter.consume(subject, { cost: 90 })
    lossy.toLose = 1
    expect((await limiter.consume(subject, { cost: 20 })).source).toBe('closed')
    await eventually(async () => expect(await leftOf(limiter, 'line')).toBe(10))
    expect(limiter.stats().waiting).toMatchObject({ now: 0, booked: 0 })
  })

  test('to one that leaves: the report is repeated until the units are back', async () => {
    const lossy = new Lossy('lease', lose)
    const limiter = lossy.limiter()
    const subject = { id: 'acme', plan: 'line' }
    await limiter.consume(subject, { cost: 90 })
    const leaving = new AbortController()
    const waiting = limiter.consume(subject, { cost: 20, signal: leaving.signal })
    await eventually(() => limiter.stats().waiting.now === 1)
    lossy.toLose = 1
    leaving.abort(new Error('gone'))
    await expect(waiting).rejects.toThrow('gone')
    await eventually(() => lossy.reports.length >= 2)
    expect(await leftOf(limiter, 'line')).toBe(10)
  })
})

test('an answer that comes late is given back at once', async () => {
  let release = (): void => {}
  const inner = memoryStore()
  const gate = new Promise<void>((resolve) => (release = resolve))
  let isSlow = false
  const consume: Store['consume'] = async (batch) => {
    const answers = await inner.consume(batch)
    if (isSlow && batch.some(({ hold }) => hold)) await gate
    // What was sent to give back what may be held is lost: only the late answer is left to tell of it.
    return isSlow && batch.some(({ grant }) => grant === 'lease') ? new Promise<never>(() => {}) : answers
  }
  const limiter = createLimiter({
    limit: '100/h',
    store: asyncStore({ consume }, inner),
    onStoreFailure: 'closed',
    warnings: false,
  })
  limiters.push(limiter)
  isSlow = true
  expect((await limiter.reserve('acme', { cost: 60, for: '1h' })).allowed).toBe(false)
  isSlow = false
  release()
  await eventually(async () => expect(await leftOf(limiter)).toBe(100))
})
