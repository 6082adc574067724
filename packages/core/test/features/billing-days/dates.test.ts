// Anchors as they are remembered: every date begins the same windows as if it were read anew, and no other text is a date.
import fc from 'fast-check'
import { cases } from '@tollgate/testing'
import { createLimiter, memoryStore, type Limiter } from '../../../src/index.js'
import { createCalendar, isAnchor } from '../../../src/calendar/calendar.js'

const NOW = Date.UTC(2026, 6, 17, 9)
const two = (number: number): string => String(number).padStart(2, '0')

const numbered = fc
  .record({
    year: fc.integer({ min: 0, max: 9999 }),
    month: fc.integer({ min: 0, max: 13 }),
    day: fc.oneof(fc.integer({ min: 0, max: 33 }), fc.constantFrom(28, 29, 30, 31)),
    time: fc.constantFrom('', 'T00:00', 'T17:30', 'T24:00'),
  })
  .map(({ year, month, day, time }) => `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}${time}`)
/** One character of a date is another. */
const damaged = fc
  .tuple(numbered, fc.nat({ max: 9 }), fc.constantFrom('x', '/', ':', ' ', '-', '1', '٣'))
  .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1))
const zones = fc.constantFrom(undefined, 'UTC', 'America/New_York', 'Asia/Kolkata')

test.each(['month', 'year'] as const)('windows of a %s begin as the calendar says', async (unit) => {
  const limiter: Limiter = createLimiter({
    limit: { quota: 1_000_000, window: unit },
    ...{ store: memoryStore({ now: () => NOW }), warnings: false },
  })
  let count = 0
  await fc.assert(
    fc.asyncProperty(fc.oneof(numbered, damaged), zones, async (anchor, timeZone) => {
      // The second time it is remembered.
      for (let i = 0; i < 2; i += 1) {
        const subject = { id: `user-${(count += 1)}`, anchor, timeZone }
        const asked = Promise.resolve().then(() => limiter.consume(subject))
        if (!isAnchor(unit, anchor)) {
          await expect(asked).rejects.toThrow('subject.anchor: got')
          continue
        }
        const [, , end] = createCalendar(unit, timeZone ?? 'UTC', anchor).startsAround(NOW)
        expect((await asked).limits).toMatchObject([{ used: 1, resetMs: end - NOW }])
      }
    }),
    { numRuns: cases(1000, 20_000) },
  )
  await limiter.close()
})
