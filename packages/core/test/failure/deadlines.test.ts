// Law 9: one timer ends all calls of a store that are late.
import { eventually } from '@tollgate/testing'
import { elapsedMs } from '../../src/base/timers.js'
import { Deadlines, type Timed } from '../../src/failure/guard/deadlines.js'

const DEADLINE_MS = 20
const HOUR_MS = 3_600_000

/** Timers that keep the process alive. */
const timers = (): number => process.getActiveResourcesInfo().filter((type) => type === 'Timeout').length

function timed(ended: string[], name = '', isAwaited = true): Timed {
  const expire = (): void => {
    const isEarly = elapsedMs() < one.sinceMs + DEADLINE_MS
    ended.push(isEarly ? `${name}, early` : name)
  }
  const one: Timed = { isAwaited, sinceMs: 0, older: undefined, newer: undefined, expire }
  return one
}

test('each ends at its own deadline, the oldest first; what was removed does not', async () => {
  const ended: string[] = []
  const deadlines = new Deadlines(DEADLINE_MS)
  const [first, second, third] = ['first', 'second', 'third'].map((name) => timed(ended, name)) as [
    Timed,
    Timed,
    Timed,
  ]
  deadlines.add(first, elapsedMs())
  deadlines.add(second, elapsedMs())
  deadlines.remove(first)
  await eventually(() => elapsedMs() > second.sinceMs + DEADLINE_MS / 2)
  deadlines.add(third, elapsedMs())
  deadlines.add(first, elapsedMs())
  await eventually(() => expect(ended).toHaveLength(3))
  expect(ended).toEqual(['second', 'third', 'first'])
  // Again, when the timer has rested.
  deadlines.add(second, elapsedMs())
  await eventually(() => expect(ended).toHaveLength(4))
  expect(ended.at(-1)).toBe('second')
})

test('one that began before the others were added ends before them, and that many ms earlier', async () => {
  const ended: string[] = []
  const deadlines = new Deadlines(HOUR_MS)
  const [first, older, oldest] = ['first', 'older', 'oldest'].map((name) => {
    const one: Timed = { ...timed([]), expire: () => ended.push(name) }
    return one
  }) as [Timed, Timed, Timed]
  deadlines.add(first, elapsedMs() - HOUR_MS + 60)
  deadlines.add(older, elapsedMs() - HOUR_MS + 30)
  deadlines.add(oldest, elapsedMs() - HOUR_MS)
  await eventually(() => expect(ended).toEqual(['oldest', 'older', 'first']))
  deadlines.add(older, elapsedMs() - HOUR_MS)
  deadlines.add(first, elapsedMs())
  deadlines.remove(older)
  deadlines.remove(first)
})

test('one timer for all, which keeps the process alive only while a request waits', () => {
  const deadlines = new Deadlines(HOUR_MS)
  const before = timers()
  const seen: number[] = []
  const see = (): void => void seen.push(timers() - before)
  const [probe, ...requests] = [timed([], '', false), timed([]), timed([])] as const
  deadlines.add(probe, elapsedMs())
  see()
  for (const request of requests) {
    deadlines.add(request, elapsedMs())
    see()
  }
  for (const request of requests) {
    deadlines.remove(request)
    see()
  }
  deadlines.remove(probe)
  expect(seen).toEqual([0, 1, 1, 1, 0])
})
