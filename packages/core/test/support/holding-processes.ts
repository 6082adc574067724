// Processes that consume, reserve and wait in line, at the worst times they may choose.
import fc from 'fast-check'
import type { LimitSet } from '../../src/plans/limit/limit-set.js'
import type { Hold, LeaseOrder, Outcome, Store, StoreRequest, SubRequest } from '../../src/stores/contract.js'
import type { Clock } from './benches.js'
import { advance, toUs, type Admitted } from './schedules.js'
import { outcomeOf } from './store-requests.js'

const KEYS = ['k', 'm'] as const

const step = fc.record({
  kind: fc.constantFrom(
    'place',
    'place',
    'place',
    'reserve',
    'consume',
    'consume',
    'commit',
    'cancel',
    'leave',
  ),
  gapUs: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(0, 0, 1, 1000) },
    { weight: 4, arbitrary: fc.integer({ min: 0, max: 100_000 }) },
    { weight: 1, arbitrary: fc.constantFrom(500_000, 999_999, 1_000_000, 1_700_000_000) },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 900_000 }) },
  ),
  cost: fc.oneof(fc.constantFrom(1, 1, 2), fc.integer({ min: 1, max: 12 })),
  /** Asked of the first key alone, or of both. */
  isJoint: fc.boolean(),
  lengthUs: fc.constantFrom(50_000, 1_000_000, 2_000_000, 4_000_000, 4_000_000_000),
  slackUs: fc.constantFrom(20_000, 20_000, 100_000),
  most: fc.constantFrom(2, 100, 100),
  /** How late within its time something is used, from 0 to 1; and which hold is meant, or how much of it. */
  late: fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })),
  which: fc.nat({ max: 20 }),
})
export type HoldStep = typeof step extends fc.Arbitrary<infer T> ? T : never
export const holdSteps = fc.array(step, { minLength: 20, maxLength: 60, size: 'max' })

interface Held {
  readonly hold: Hold
  readonly parts: readonly SubRequest[]
  /** Its parts that wait; the others were taken at once. */
  readonly later: readonly SubRequest[]
  readonly at: number
  readonly timeUs: number
  readonly endUs: number
}

/** Plays steps, and notes when units of each key were truly used. */
export class HoldingProcesses {
  readonly used: readonly Admitted[][] = KEYS.map(() => [])
  /** How many requests had to wait in line. */
  waited = 0
  readonly #store: Store
  readonly #clock: Clock
  readonly #sets: readonly LimitSet[]
  #held: Held[] = []
  #made = 0

  /** @param sets of each key */
  constructor(store: Store, clock: Clock, sets: readonly [LimitSet, LimitSet]) {
    this.#store = store
    this.#clock = clock
    this.#sets = sets
  }

  get now(): number {
    return toUs(this.#clock)
  }

  async play(steps: readonly HoldStep[]): Promise<void> {
    for (const next of steps) {
      advance(this.#clock, next.gapUs)
      await this.#perform(next)
    }
    this.#useAll()
  }

  /** A request of a step. */
  requestOf({ kind, cost, isJoint, lengthUs, slackUs, most }: HoldStep): StoreRequest {
    const keys = isJoint ? KEYS : KEYS.slice(0, 1)
    const parts = keys.map((key, i) => ({ key, set: this.#sets[i] as LimitSet, cost }))
    const request: StoreRequest = { shard: 0, grant: 'all', parts }
    if (kind !== 'place' && kind !== 'reserve') return request
    this.#made += 1
    const id = `hold-${String(this.#made).padStart(7, '0')}`
    return {
      ...request,
      hold: { kind: kind === 'place' ? 'place' : 'reservation', id, lengthUs, slackUs, most },
    }
  }

  async #perform(next: HoldStep): Promise<void> {
    const { kind, which } = next
    if (kind === 'place' || kind === 'reserve' || kind === 'consume') return this.#ask(next)
    const isMeant = ({ hold }: Held): boolean => (hold.kind === 'place') === (kind === 'leave')
    const living = this.#held.filter((held) => isMeant(held) && held.endUs > this.now)
    const held = living[which % Math.max(living.length, 1)]
    if (!held) return
    this.#held = this.#held.filter((one) => one !== held)
    const used = kind === 'commit' ? Math.min(which, held.parts[0]?.cost ?? 0) : 0
    await this.#report(held, used)
    // Of a reservation units are used at any time until they are committed.
    const atUs = Math.round(held.at + (this.now - held.at) * next.late)
    if (used > 0) this.#note(held.parts, atUs, used)
  }

  async #ask(next: HoldStep): Promise<void> {
    const request = this.requestOf(next)
    const outcome = await outcomeOf(this.#store, request)
    if (!isTaken(outcome)) return
    const { parts, hold } = request
    const { delayUs = 0, endsInUs = 0 } = outcome.hold ?? {}
    const isPlace = hold?.kind === 'place'
    const later = parts.filter(({ set }) => endsInUs > 0 && (!isPlace || set.wait))
    this.#note(
      parts.filter((part) => !later.includes(part)),
      this.now,
    )
    if (!hold || later.length === 0) return
    if (isPlace) this.waited += 1
    const { late } = next
    const timeUs = Math.round(this.now + delayUs + late * hold.slackUs)
    this.#held.push({ hold, parts, later, at: this.now, timeUs, endUs: this.now + endsInUs })
  }

  async #report({ hold, later }: Held, used: number): Promise<void> {
    const order: LeaseOrder = { reports: [{ id: hold.id, used, left: 0 }] }
    for (const part of later) {
      const outcome = await outcomeOf(this.#store, { shard: 0, grant: 'lease', order, parts: [part] })
      if (outcome.lease?.isKnown === false) throw new Error('a hold that lives is not known')
    }
  }

  /** Places that were not left are used at their time. */
  #useAll(): void {
    for (const { hold, later, timeUs } of this.#held) if (hold.kind === 'place') this.#note(later, timeUs)
  }

  #note(parts: readonly SubRequest[], atUs: number, units?: number): void {
    for (const { key, cost } of parts) {
      this.used[KEYS.indexOf(key as 'k')]?.push({ atUs, cost: units ?? cost })
    }
  }
}

export function isTaken({ limits }: Outcome): boolean {
  return limits.every(({ wait }) => wait === 0)
}
