// However many keys a process knows of, it forgets those of which nothing is held, and tells of the others a few at a time.
import { setImmediate as turn } from 'node:timers/promises'
import { eventually } from '@tollgate/testing'
import type * as timers from '../../../src/base/timers.js'
import { InFlight } from '../../../src/features/in-flight/in-flight.js'
import { compilePlan } from '../../../src/plans/plan.js'
import type { Request } from '../../../src/requests/request.js'
import { createLimitSet, type Outcome, type StoreRequest } from '../../../src/store.js'
import { LARGEST_BATCH } from '../../../src/stores/batcher.js'

let mockSkippedMs = 0
/** Set: the time stands still there, since a slow machine would take longer than the half second of a recovery. */
let mockStoppedMs: number | undefined
jest.mock('../../../src/base/timers.js', () => {
  const actual = jest.requireActual<typeof timers>('../../../src/base/timers.js')
  return { ...actual, elapsedMs: () => (mockStoppedMs ?? actual.elapsedMs()) + mockSkippedMs }
})

const plan = compilePlan('plan', '5 concurrent', 'plans.plan')
const set = createLimitSet('5 concurrent')

function requestOf(key: string): Request {
  const part = {
    ...{ key, set, cost: 1, subject: { id: key }, limits: plan.limits, shard: 0 },
    ...{ planName: 'plan', place: undefined, onStoreFailure: undefined },
  }
  return { subject: { id: key }, plan, cost: 1, parts: [part], limits: plan.limits, shard: 0, grant: 'all' }
}

/** A process whose store answers a little later, or is not asked. */
class Process {
  isRefused = false
  /** The sizes of what was sent and not answered yet. */
  readonly underWay = new Set<number>()
  /** The most that was under way at a time. */
  most = 0
  /** The most requests that were sent together. */
  largest = 0
  readonly declared: string[] = []
  readonly released: string[] = []
  readonly toldAgain: number[] = []
  /** Called for each batch that is sent. */
  onSent = (): void => {}
  readonly inFlight = new InFlight('abcdef', {
    answersAtOnce: false,
    send: (request, onAnswer) => void this.#take([request]).then(([outcome]) => onAnswer(outcome)),
    charge: (batch, onAnswers) => void this.#take(batch).then(onAnswers),
    isRefused: () => this.isRefused,
    emit: (_event, { subjects }) => this.toldAgain.push(subjects),
  })
  #sent = 0

  /** A request that is let in by the failure policy if the store is not asked, else by the store. */
  begin(key: string): () => void {
    const request = this.inFlight.prepare(requestOf(key))
    if (!this.isRefused) {
      request.inFlight?.sent(request)
      const slot = (request.parts[0]?.slots?.known ?? 0) + 1
      request.inFlight?.answered(request, { at: 0, limits: [{ wait: 0, remaining: 4, reset: 0, slot }] }, 0)
    }
    request.inFlight?.conclude(true)
    return () => void request.inFlight?.release()
  }

  async #take(batch: readonly StoreRequest[]): Promise<Outcome[]> {
    const number = (this.#sent += 1)
    this.underWay.add(number)
    this.most = Math.max(this.most, this.underWay.size)
    for (const { grant, parts } of batch)
      (grant === 'declare' ? this.declared : this.released).push(parts[0]?.key ?? '')
    this.largest = Math.max(this.largest, batch.length)
    this.onSent()
    await turn()
    this.underWay.delete(number)
    return batch.map(({ parts }) => {
      const slot = parts[0]?.slots?.known ?? 0
      return { at: 0, limits: [{ wait: 0, remaining: 4, reset: 0, slot }] }
    })
  }
}

const MANY = 3000
const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `key-${i}`)
const recovered = (process: Process): Promise<void> =>
  new Promise((resolve) => process.inFlight.recover(0, resolve))

test('while the store is not asked, a request leaves nothing behind, and nothing is told of it afterwards', async () => {
  const process = new Process()
  process.isRefused = true
  const ends = keys(MANY).map((key) => process.begin(key))
  expect(process.inFlight.keys.size).toBe(MANY)
  for (const end of ends.slice(3)) end()
  expect(process.inFlight.keys.size).toBe(3)
  await recovered(process)
  expect(process.declared).toEqual(['key-0', 'key-1', 'key-2'])
  expect(process.toldAgain).toEqual([3])
})

test('a request that was under way when the store failed is told of, unless the store has dropped its slot by then', async () => {
  const process = new Process()
  const begin = (key: string): void => {
    const request = process.inFlight.prepare(requestOf(key))
    request.inFlight?.sent(request)
    request.inFlight?.conclude(false)
  }
  process.isRefused = true
  begin('late')
  expect(process.inFlight.keys.size).toBe(1)
  await recovered(process)
  expect([process.declared, process.inFlight.keys.size]).toEqual([['late'], 0])
  begin('later')
  mockSkippedMs += 14_500
  await eventually(() => process.inFlight.keys.size === 0)
  expect(process.declared).not.toContain('later')
})

test('a store that answers again is told of all that is held, one batch after another, and the event loop goes on', async () => {
  const process = new Process()
  for (const key of keys(MANY)) process.begin(key)
  process.isRefused = true
  let turns = 0
  let isOver = false
  const turning = (async () => {
    for (; !isOver; turns += 1) await turn()
  })()
  mockStoppedMs = performance.now()
  await recovered(process)
  mockStoppedMs = undefined
  isOver = true
  await turning
  expect(process.declared).toEqual(keys(MANY))
  expect([process.most, process.largest]).toEqual([1, LARGEST_BATCH])
  expect(turns).toBeGreaterThanOrEqual(Math.floor(MANY / LARGEST_BATCH))
  expect(process.toldAgain).toEqual([MANY])
})

test('if that takes long, the store is asked meanwhile, and told of the rest', async () => {
  const process = new Process()
  for (const key of keys(MANY)) process.begin(key)
  process.isRefused = true
  process.onSent = () => (mockSkippedMs += 60)
  await recovered(process)
  expect(process.declared.length).toBeLessThanOrEqual(10 * LARGEST_BATCH)
  process.onSent = () => {}
  process.isRefused = false
  await eventually(() => process.toldAgain.length === 2)
  expect(process.declared.toSorted()).toEqual(keys(MANY).toSorted())
  expect(process.toldAgain.reduce((sum, one) => sum + one)).toBe(MANY)
})

test('what lasts is renewed in batches, too, and what ends at once is told in several turns', async () => {
  const process = new Process()
  const ends = keys(MANY).map((key) => process.begin(key))
  mockSkippedMs += 5000
  await eventually(() => process.declared.length >= MANY)
  expect(process.declared.toSorted()).toEqual(keys(MANY).toSorted())
  expect(process.most).toBeLessThanOrEqual(LARGEST_BATCH)
  expect(process.released).toEqual([])
  let [inThisTurn, most] = [0, 0]
  process.onSent = () => {
    if ((inThisTurn += 1) === 1) setImmediate(() => (inThisTurn = 0))
    most = Math.max(most, inThisTurn)
  }
  for (const end of ends) end()
  await eventually(() => process.inFlight.keys.size === 0)
  expect(process.released).toHaveLength(MANY)
  expect(most).toBeLessThanOrEqual(1000)
})
