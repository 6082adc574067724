// Which tenants get a lease: those that asked 16 times in the time of one after up to three requests, whatever others ask.
import { setImmediate as turn } from 'node:timers/promises'
import { fnv1a } from '../../../src/base/hash.js'
import { createLimiter, memoryStore, type Limiter } from '../../../src/index.js'
import { asyncStore } from '../../support/stores.js'

const clock = { now: 1_769_862_896_789 }
const now = (): number => clock.now
let limiter: Limiter
let leased: string[]

beforeEach(() => {
  limiter = createLimiter({
    plans: { big: { limits: '100000/h', lease: true } },
    store: asyncStore({ testClock: now }, memoryStore({ now })),
    warnings: false,
  })
  leased = []
  limiter.on('lease', ({ kind, subject }) => {
    if (kind === 'granted') leased.push(String(subject.id))
  })
})

afterEach(() => limiter.close())

async function ask(id: string, times: number, everyMs = 1): Promise<void> {
  for (let i = 0; i < times; i += 1) {
    await limiter.consume({ id, plan: 'big' })
    await turn()
    clock.now += everyMs
  }
}

/** Another id that the limiter counts in the same place, until it watches it. */
function idBeside(id: string): string {
  const placeOf = (one: string): number => fnv1a(one) % 2 ** 14
  for (let i = 0; ; i += 1) if (placeOf(`other-${i}`) === placeOf(id)) return `other-${i}`
}

test('a tenant gets a lease after its 19th request', async () => {
  await ask('tenant', 18)
  expect(leased).toEqual([])
  await ask('tenant', 1)
  expect(leased).toEqual(['tenant'])
})

test('requests of long ago do not make a tenant hot', async () => {
  await ask('tenant', 3, 60_000)
  await ask('tenant', 15)
  expect(leased).toEqual([])
  await ask('tenant', 1)
  expect(leased).toEqual(['tenant'])
})

test('a tenant that asks more slowly gets none', async () => {
  await ask('tenant', 100, 50)
  expect(leased).toEqual([])
})

test('requests of a tenant do not make another one hot', async () => {
  const other = idBeside('tenant')
  for (let i = 0; i < 12; i += 1) {
    await ask('tenant', 1)
    await ask(other, 1)
  }
  // Two of the tenant's were counted by the hash, ten by its watch.
  await ask('tenant', 5)
  expect(leased).toEqual([])
  await ask('tenant', 1)
  expect(leased).toEqual(['tenant'])
})

test('a tenant is found among thousands that ask once', async () => {
  for (let i = 0; i < 17; i += 1) {
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) => limiter.consume({ id: `${i}-${n}`, plan: 'big' })),
    )
  }
  expect(leased).toEqual([])
  await ask('tenant', 19)
  expect(leased).toEqual(['tenant'])
})
