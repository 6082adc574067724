import { createLimiter } from '../../src/index.js'
import { decisionsOf, noteDecision } from '../../src/http/decisions.js'

test('a request that is decided again and again keeps its latest 32 decisions', async () => {
  const limiter = createLimiter({ limit: '1000/min' })
  const made = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('acme')))
  const req = {}
  const by = { limiter, group: undefined, consumer: limiter, family: {}, isOfRoute: false }
  for (const decision of made) noteDecision(req, { decision, by, subjects: [decision.subject] })
  expect(decisionsOf(req)).toEqual(made.slice(-32))
})

test.each([undefined, null, '', 0, false, 'acme', {}])(
  'what is no limited request has no decisions: %p',
  (given) => {
    expect(decisionsOf(given as object)).toEqual([])
  },
)
