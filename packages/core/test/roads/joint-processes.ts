// The two processes of a joint schedule: their limiters, and what can be known of them from outside.
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import {
  createLimiter,
  type Limiter,
  type LimiterOptions,
  type Store,
  type Subject,
} from '../../src/index.js'
import type { JointBooks } from './joint-books.js'
import type { Moment } from './joint-judge.js'
import { PROCESSES, type JointAsk, type JointSchedule } from './joint-schedule.js'
import { Wire } from './processes.js'
import { inputsOf, subjectsOf } from './places.js'
import type { Clock } from './road.js'
import { ANSWERED_WITHIN_MS, NoAnswer } from './within.js'

/** What joins two processes. */
export interface JointPlace {
  /** Makes the store of a process, all on the same counts, by the store's clock. */
  store(process: number, clock: Clock): Store
  /** Has the store forget its scripts. */
  flush?(): Promise<unknown>
  /** Law 8: what is still kept once nothing counts any more, as text. */
  leftBehind?(longestMs: number): Promise<string[]>
}

/** Whose moment it is. */
interface Present {
  readonly books: JointBooks
  readonly moment: Moment
}

export class JointProcesses {
  readonly limiters: readonly Limiter[]
  readonly #schedule: JointSchedule
  readonly #present: Present
  /** The clock of the processes never goes back; that of the store does. */
  readonly #clock: Clock
  readonly #storeClock: Clock
  readonly #wires: readonly Wire[]
  /** Until when a process may remember what it cannot know to be over, by process and subject, in µs. */
  readonly #unawareUntil = new Map<string, number>()
  /** Of those who wait: when their places come, in µs. */
  readonly #dues = new Map<string, number[]>()

  constructor(place: JointPlace, schedule: JointSchedule, present: Present) {
    this.#schedule = schedule
    this.#present = present
    this.#clock = { now: present.books.nowUs / 1000 }
    this.#storeClock = { ...this.#clock }
    this.#wires = Array.from({ length: PROCESSES }, () => new Wire())
    this.limiters = this.#wires.map((wire, i) => this.#start(wire, place.store(i, this.#storeClock), i))
  }

  setClocks(): void {
    this.#clock.now = this.#present.books.nowUs / 1000
    this.#storeClock.now = this.#present.books.storeUs / 1000
  }

  of({ process }: JointAsk): Limiter {
    return this.limiters[process] as Limiter
  }

  given({ who }: JointAsk): Subject[] {
    const plans = Object.fromEntries(who.map(({ plan }) => [plan, this.#schedule.plans[plan]?.limits ?? []]))
    return subjectsOf(who, plans)
  }

  /** Notes that others may remember denials that are over. */
  freedBy(process: number | undefined, subject: string): void {
    const until = this.#present.books.nowUs + 2000 * (this.#schedule.recheckMs ?? 0)
    for (let other = 0; other < PROCESSES; other += 1) {
      if (other !== process) this.#unawareUntil.set(`${other} ${subject}`, until)
    }
  }

  /** Whether a process may not know that others freed units. */
  isUnaware({ who, process }: JointAsk): boolean {
    const { nowUs } = this.#present.books
    return who.some(({ id }) => (this.#unawareUntil.get(`${process} ${id}`) ?? 0) >= nowUs)
  }

  /** Whether nobody holds anything, nor is anything under way. */
  get isQuiet(): boolean {
    return this.limiters.every((limiter) => {
      const { pending, inFlight, waiting, leases } = limiter.stats()
      return pending === 0 && inFlight === 0 && waiting.now === 0 && leases.held === 0
    })
  }

  /** Waits until no message is under way, and those who wait have seen the time. */
  async idle(): Promise<void> {
    const until = performance.now() + ANSWERED_WITHIN_MS
    for (let seen = 0; seen < 3;) {
      await turn()
      seen = this.#wires.some(({ pending }) => pending > 0) ? 0 : seen + 1
      if (seen > 0) continue
      await sleep(1)
      if (performance.now() > until) throw new NoAnswer('a message to the store has no answer')
    }
  }

  /** Those whose places have come mostly use them now. Nothing is judged by it. */
  async usePlaces(): Promise<void> {
    const isDue = (): boolean => [...this.#dues.values()].flat().some((us) => us <= this.#present.books.nowUs)
    for (let left = 30; left > 0 && isDue(); left -= 1) await sleep(2)
  }

  #start(wire: Wire, inner: Store, process: number): Limiter {
    const store = wire.around(inner, () => this.#clock.now)
    const plans = Object.fromEntries(
      Object.entries(this.#schedule.plans)
        .filter(([name]) => !name.startsWith('own'))
        .map(([name, { limits, ...options }]) => [name, { limits: inputsOf(limits), ...options }]),
    ) as NonNullable<LimiterOptions['plans']>
    const { recheckMs } = this.#schedule
    const limiter = createLimiter({
      plans,
      store,
      deadlineMs: 2 * ANSWERED_WITHIN_MS,
      onStoreFailure: 'closed',
      local: { instances: 1 },
      warnings: false,
      denials: recheckMs === undefined ? false : { recheckMs },
    })
    limiter.on('lease', (change) => {
      const subject = String(change.subject.id)
      this.#present.moment.leased(subject, this.#present.books.lease(process, subject, change))
      this.freedBy(process, subject)
    })
    limiter.on('waiting', ({ kind, subject, plan, delayMs }) => {
      if (kind === 'left' || kind === 'late') {
        this.freedBy(process, String(subject.id))
        const entered = this.#present.books.unused(process, String(subject.id))
        // One that left books no other place, and its own was beside the limits when the moment began.
        if (kind === 'late') for (const { ask, lines } of entered) this.#present.moment.entered(ask, lines)
      }
      const dues = this.#dues.get(JSON.stringify([process, subject.id, plan, delayMs])) ?? []
      this.#dues.set(JSON.stringify([process, subject.id, plan, delayMs]), dues)
      if (kind === 'booked') dues.push(this.#present.books.nowUs + delayMs * 1000)
      else dues.shift()
    })
    return limiter
  }
}
