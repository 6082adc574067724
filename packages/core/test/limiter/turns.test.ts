// However many answers come without I/O, timers and sockets get their turn.
import { createLimiter, memoryStore } from '../../src/index.js'
import { asyncStore } from '../support/stores.js'

/** Asks without pause until a timer has run, or `most` times. Returns how many times it asked. */
async function askUntilATimerRuns(ask: () => unknown, most: number): Promise<number> {
  let hasRun = false
  setTimeout(() => (hasRun = true), 0)
  let asked = 0
  while (!hasRun && asked < most) {
    await ask()
    asked += 1
  }
  return asked
}

const MOST = 50_000

test('a loop on a denial that is remembered', async () => {
  const limiter = createLimiter({
    limit: '1/h',
    store: asyncStore({}, memoryStore()),
    denials: { recheckMs: 60_000 },
  })
  await limiter.consume('acme', { cost: 1 })
  await limiter.consume('acme')
  expect(await limiter.consume('acme')).toMatchObject({ allowed: false, source: 'cache' })
  expect(await askUntilATimerRuns(() => limiter.consume('acme'), MOST)).toBeLessThan(MOST)
  await limiter.close()
})

test('a loop on a plan without limits', async () => {
  const store = asyncStore({}, memoryStore())
  const limiter = createLimiter({ plans: { free: '1/h', team: 'unlimited' }, defaultPlan: 'free', store })
  const ask = (): unknown => limiter.consume({ id: 'acme', plan: 'team' })
  expect(await askUntilATimerRuns(ask, MOST)).toBeLessThan(MOST)
  await limiter.close()
})

test('loops on a store that answers by promises, without I/O', async () => {
  const limiter = createLimiter({ limit: '1000000/h', store: asyncStore({}, memoryStore()) })
  const loops = ['a', 'b', 'c'].map((id) => askUntilATimerRuns(() => limiter.consume(id), MOST))
  for (const asked of await Promise.all(loops)) expect(asked).toBeLessThan(MOST)
  await limiter.close()
})
