// Processes whose system clocks are seconds apart, in the moment in which they begin to decide.
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, startMemcached, type MemcachedServer } from '@tollgate/testing'
import fc from 'fast-check'
import memjs from 'memjs'
import { portOf, type Memcached } from '../src/clients/index.ts'
import type { MemcachedPort } from '../src/clients/port.ts'
import { CommonClock } from '../src/clock.ts'
import { ToldTime } from '../src/told-time.ts'
import { newPrefix } from './support.ts'

/** A process that begins goes by its own clock if that is so much later. */
const MOST_LATER_MS = 150

let server: MemcachedServer
const processes: Process[] = []
beforeAll(async () => {
  server = await startMemcached()
})
afterAll(async () => {
  for (const { clock } of processes) clock.close()
  await Promise.all(processes.map(({ port }) => port.close?.()))
  await server.kill()
})

interface Process {
  readonly port: MemcachedPort
  readonly clock: CommonClock
}

/** A process whose system clock is wrong by so much. */
function processOf(key: string, skewMs: number): Process {
  const port = portOf(server.address, undefined)
  const real = Date.now
  Date.now = () => real() + skewMs
  const made = { port, clock: new CommonClock(port, 0, { key }) }
  Date.now = real
  processes.push(made)
  return made
}

function apartMs(all: readonly Process[]): number {
  const times = all.map(({ clock }) => clock.nowUs() / 1000)
  return Math.max(...times) - Math.min(...times)
}

/** Compares its clock with the others, as a process does that decides. */
async function compare({ clock, port }: Process): Promise<void> {
  const command = clock.comparison()
  if (command) clock.compare((await port.run([command], 0))[0])
}

test('begin at once: all go by the clock of one', async () => {
  for (let round = 0; round < 20; round += 1) {
    const key = newPrefix()
    const all = [0, 3000, -3000, 1500, -1500, 60_000, -60_000].map((skew) => processOf(key, skew))
    const began = performance.now()
    await Promise.all(all.map(({ clock }) => clock.sync()))
    expect(apartMs(all)).toBeLessThanOrEqual(MOST_LATER_MS + performance.now() - began)
  }
})

test.each([
  ['that is gone', true],
  ['that is silent', false],
])('begin a second after one %s: go by its clock, not by the time that it wrote last', async (_, isGone) => {
  const key = newPrefix()
  const first = processOf(key, 0)
  await first.clock.sync()
  if (isGone) first.clock.close()
  await sleep(1000)
  const second = processOf(key, 0)
  await second.clock.sync()
  expect(apartMs([first, second])).toBeLessThanOrEqual(MOST_LATER_MS)
})

test('begin beside others whose clock was set by another second of the server: go by theirs', async () => {
  const key = newPrefix()
  const first = processOf(key, -10_000)
  await first.clock.sync()
  const second = await first.port.serverTime(0)
  let comparedAt = 0
  await eventually(async () => {
    comparedAt = performance.now()
    await compare(first)
    return (await first.port.serverTime(0)) !== second
  })
  const before = first.clock.nowUs() / 1000 - performance.now()
  const others = [10_000, 0, -10_000].map((skew) => processOf(key, skew))
  await Promise.all(others.map(({ clock }) => clock.sync()))
  // The time that they found was written 100 ms before the last comparison, or later.
  expect(apartMs([first, ...others])).toBeLessThanOrEqual(
    MOST_LATER_MS + 100 + performance.now() - comparedAt,
  )
  const compared = jest.spyOn(first.clock, 'compare')
  await eventually(async () => {
    await Promise.all([...others, first].map(compare))
    return compared.mock.calls.length >= 2
  })
  // Nobody has pushed the others on.
  expect(first.clock.nowUs() / 1000 - performance.now() - before).toBeLessThanOrEqual(MOST_LATER_MS)
})

test('a time that cannot be right: the server is asked at once', async () => {
  const key = newPrefix()
  const first = processOf(key, 0)
  await first.clock.sync()
  first.clock.close()
  const asked = jest.spyOn(first.port, 'serverTime')
  // It does not ask twice within a second.
  await sleep(1000)
  const text = String(Date.now() - 60_000)
  await first.port.run([{ kind: 'set', key, text, ttl: 60 }], 0)
  await compare(first)
  expect(asked).toHaveBeenCalledTimes(1)
})

test('what the server leaves alone, a process that begins thinks possible', () => {
  const SERVER_MS = Date.UTC(2026, 0, 1)
  const told = (): ToldTime => {
    const time = new ToldTime()
    time.learn(SERVER_MS, performance.now(), SERVER_MS)
    return time
  }
  let left = 0
  fc.assert(
    fc.property(fc.integer({ min: -10_000, max: 10_000 }), (offMs) => {
      const now = SERVER_MS + offMs
      if (told().learn(SERVER_MS, performance.now(), now) !== 0) return
      left += 1
      expect(told().isPossible(now, SERVER_MS)).toBe(true)
    }),
  )
  expect(left).toBeGreaterThan(0)
})

test('over a client of the application nothing is sent between decisions', async () => {
  const client = memjs.Client.create(server.address)
  const port = portOf(client as unknown as Memcached, undefined)
  const clock = new CommonClock(port, 0, { key: newPrefix() })
  await clock.sync()
  const sent = jest.spyOn(port, 'run')
  await sleep(300)
  expect(sent).not.toHaveBeenCalled()
  client.close()
})
