import { standingAt } from '../src/run.ts'
import { FIRST, runOf } from '../src/scene.ts'
import { caption, headline, oneWindow, overOf, summary, verdictOf } from '../src/words.ts'

test.each([
  ['100/min', 'The limit is 100 a minute. In the busiest minute, Tollgate lets 100 in, the other two 199.'],
  ['100/h', 'The limit is 100 an hour. In the busiest hour, Tollgate lets 100 in, the other two 199.'],
  [
    '9/15 min',
    'The limit is 9 in 15 minutes. In the busiest 15 minutes, Tollgate lets 9 in, the other two 17.',
  ],
])('the headline of %s', (limit, text) => {
  expect(headline(runOf({ ...FIRST, limit }))).toBe(text)
})

test('the headline names the others apart where they differ', () => {
  const run = runOf({ ...FIRST, pattern: 'own', own: '100 at 59s, 100 at 61s' })
  expect(headline(run)).toBe(
    'The limit is 100 a minute. In the busiest minute, Tollgate lets 100 in, a fixed window 200, express-rate-limit 100.',
  )
})

test('the caption says what a client does', () => {
  expect(caption('seam', runOf(FIRST))).toBe(
    'A client asks 100 times just before a window ends, and 100 times just after',
  )
  expect(caption('seam', runOf({ ...FIRST, limit: '1/s' }))).toContain('once just before')
})

test('the summary says how it stands', () => {
  const run = runOf(FIRST)
  expect(summary(run, 0)).toBe(
    'After 0s and 1 request, in the busiest minute: Fixed window let 1 in, within the limit; ' +
      'express-rate-limit let 1 in, within the limit; Tollgate let 1 in, within the limit.',
  )
  expect(summary(run, 61_000)).toContain('Fixed window let 199 in, 99 over the limit')
  expect(summary(runOf({ ...FIRST, pattern: 'own', own: '1 at 5s' }), 1000)).toBe('At 1s: no requests yet.')
})

test('over is what exceeds the limit, and nothing below it', () => {
  const run = runOf(FIRST)
  const standings = run.lanes.map((lane) => standingAt(run, lane, run.lengthMs))
  expect(standings.map((standing) => overOf(run, standing))).toEqual([99, 99, 0])
  expect(standings.map((standing) => verdictOf(run, standing))).toEqual([
    ...['99 over the limit', '99 over the limit', 'within the limit'],
  ])
  const first = run.lanes.map((lane) => overOf(run, standingAt(run, lane, 0)))
  expect(first).toEqual([0, 0, 0])
  expect(oneWindow(run)).toBe('one minute')
})
