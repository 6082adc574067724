import { DenialBodies } from '../../src/http/answers/denial-answers.js'
import { retryFor } from '../../src/http/answers/denial.js'
import { createLimiter, memoryStore, type Decision } from '../../src/index.js'
import { START_MS } from '../support/benches.js'

/** As in `DenialBodies`. */
const MOST = 500

test('a body is kept and used again; of more than 500, all are forgotten', async () => {
  const limiter = createLimiter({ limit: '1000/min', store: memoryStore({ now: () => START_MS }) })
  await limiter.consume('acme', { cost: 1000 })
  const denials: Decision[] = []
  for (let cost = 1; cost <= MOST + 1; cost += 1) denials.push(await limiter.consume('acme', { cost }))
  const bodies = new DenialBodies({})
  const render = (decision: Decision | undefined): unknown =>
    bodies.render(decision as Decision, retryFor(decision as Decision), 'application/json')
  const first = denials.slice(0, MOST)
  const made = first.map(render)
  // The same objects, not equal ones.
  expect(new Set([...made, ...first.map(render)]).size).toBe(MOST)
  render(denials[MOST])
  const again = render(denials[0])
  expect([again, again === made[0]]).toEqual([made[0], false])
})

test('a body is that of its own wait, cost, media type and limit, whatever came before', async () => {
  const clock = { now: START_MS }
  const limiter = createLimiter({
    limit: ['9/min', '20/h'],
    store: memoryStore({ now: () => clock.now }),
  })
  const bodies = new DenialBodies({})
  const render = (decision: Decision, accept: string): string =>
    bodies.render(decision, retryFor(decision), accept).body
  await limiter.consume('acme', { cost: 9 })
  const [first, dearer] = [await limiter.consume('acme'), await limiter.consume('acme', { cost: 2 })]
  clock.now += 5000
  const later = await limiter.consume('acme')
  for (const accept of ['application/json', 'text/plain']) {
    const seen = [first, later, dearer, first].map((decision) => render(decision, accept))
    const fresh = [first, later, dearer, first].map(
      (decision) => new DenialBodies({}).render(decision, retryFor(decision), accept).body,
    )
    expect(seen).toEqual(fresh)
    expect(seen[1]).toContain('55 seconds')
  }
})
