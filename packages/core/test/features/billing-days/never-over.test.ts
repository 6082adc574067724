// Law 1 with everything that plans are sold with: whatever a subject does, and whether it passes its day or not, each window has its quota, and
// what goes beyond it is of top-ups, each unit once.
import { cases } from '@tollgate/testing'
import fc from 'fast-check'
import type { Decision, Limiter, Reservation } from '../../../src/index.js'
import { benches, closeBenches, START_MS, type Clock } from '../../support/benches.js'

afterAll(closeBenches)

const [HOUR, DAY] = [3_600_000, 86_400_000]
const QUOTA = { small: 4, large: 9 } as const
const plans = { small: '4/month', large: '9/month' } as const

/** What was admitted, by windows. */
class Ledger {
  readonly #windows = new Map<string, { quota: number; units: number }>()
  #toppedUp = 0
  #renewals = 0

  /** @returns the window */
  add(end: Date | undefined, quota: number, units: number): string {
    const window = `${end?.toISOString()} ${this.#renewals}`
    const known = this.#windows.get(window) ?? { quota: 0, units: 0 }
    this.#windows.set(window, { quota: Math.max(known.quota, quota), units: known.units + units })
    return window
  }

  takeBack(window: string, units: number): void {
    const known = this.#windows.get(window)
    if (known) known.units -= units
  }

  topUp(units: number): void {
    this.#toppedUp += units
  }

  renew(): void {
    this.#renewals += 1
  }

  /** Units that neither a quota nor a top-up covers. */
  get unpaid(): number {
    const beyond = [...this.#windows.values()].map(({ quota, units }) => Math.max(units - quota, 0))
    return beyond.reduce((sum, units) => sum + units, 0) - this.#toppedUp
  }
}

const who = { plan: fc.constantFrom('small', 'large'), day: fc.constantFrom(0, 0, 1, 15, 25) }
const cost = fc.constantFrom(1, 2, 4)
const act = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('use'), ...who, cost }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reserve'), ...who, cost }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('commit', 'cancel', 'refund', 'settle'), nth: fc.nat(3) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('topUp'), ...who, cost }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('renew'), ...who }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.constantFrom(HOUR, DAY, 6 * DAY, 20 * DAY) }),
  },
)
interface Act {
  readonly do: string
  readonly plan: keyof typeof QUOTA
  readonly day: number
  readonly cost: number
  readonly nth: number
  readonly ms: number
}
interface Used {
  readonly decision: Decision
  readonly window: string
  readonly atMs: number
}

class Player {
  readonly ledger = new Ledger()
  readonly #limiter: Limiter
  readonly #clock: Clock
  readonly #used: Used[] = []
  readonly #reserved: { readonly reservation: Reservation; readonly endMs: number; readonly act: Act }[] = []
  #keys = 0

  constructor(limiter: Limiter, clock: Clock) {
    this.#limiter = limiter
    this.#clock = clock
  }

  async play(one: Act): Promise<unknown> {
    const { plan, day } = one
    const subject = (day ? { id: 'acme', plan, anchor: day } : { id: 'acme', plan }) as never
    const call = { limit: 'month', key: `${(this.#keys += 1)}` }
    // No two calls are at the same time.
    this.#clock.now += 1
    if (one.do === 'wait') return (this.#clock.now += one.ms)
    if (one.do === 'use') return this.#use(subject, one)
    if (one.do === 'reserve') {
      const reservation = await this.#limiter.reserve(subject, { cost: one.cost, for: '24h' })
      const endMs = this.#clock.now + DAY
      return reservation.allowed && this.#reserved.push({ reservation, endMs, act: one })
    }
    if (one.do === 'topUp') {
      this.ledger.topUp(one.cost)
      return this.#limiter.topUp(subject, { ...call, units: one.cost, for: '60d' })
    }
    if (one.do === 'renew') {
      this.ledger.renew()
      return this.#limiter.renew(subject, call)
    }
    return one.do === 'refund' || one.do === 'settle' ? this.#giveBack(one) : this.#end(one)
  }

  async #use(subject: never, { plan, cost: units }: Act): Promise<void> {
    const decision = await this.#limiter.consume(subject, { cost: units })
    if (!decision.allowed) return
    const { running } = await this.#limiter.usageOf(subject, { limit: 'month' })
    const window = this.ledger.add(running?.until, QUOTA[plan], units)
    this.#used.push({ decision, window, atMs: this.#clock.now })
  }

  async #giveBack({ do: what, nth }: Act): Promise<void> {
    const [used] = this.#used.splice(nth, 1)
    if (!used) return
    const { decision, window, atMs } = used
    const { running } = await this.#limiter.usageOf({ id: 'acme', plan: 'small' } as never, {
      limit: 'month',
    })
    // The first window of a billing day has days of the month before it, and units of these days go back to it (law 1).
    if (running && !window.startsWith(running.until.toISOString()) && atMs >= running.from.getTime()) return
    const { cost: units } = decision
    const left =
      what === 'refund'
        ? (await this.#limiter.refund(decision))
          ? 0
          : units
        : Number(await this.#limiter.settle(decision, 0))
    this.ledger.takeBack(window, units - left)
  }

  async #end({ do: what, nth }: Act): Promise<void> {
    const [reserved] = this.#reserved.splice(nth, 1)
    if (!reserved) return
    const { reservation, endMs, act: of } = reserved
    // What is committed later counts, though nothing is held for it any more.
    if (what === 'cancel' || this.#clock.now >= endMs) return void (await reservation.cancel())
    const units = await reservation.commit(of.cost)
    const { running } = await this.#limiter.usageOf({ id: 'acme', plan: of.plan } as never, {
      limit: 'month',
    })
    this.ledger.add(running?.until, QUOTA[of.plan], Number(units))
  }
}

test.each(benches)('on $store', async (bench) => {
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 50, size: 'max' }), async (acts) => {
      const clock = { now: Math.floor(START_MS) }
      const limiter = bench.limiter({ plans, defaultPlan: 'small', denials: false, warnings: false }, clock)
      try {
        const player = new Player(limiter, clock)
        for (const [i, one] of (acts as Act[]).entries()) {
          await player.play(one)
          expect([acts.slice(0, i + 1), player.ledger.unpaid > 0]).toEqual([acts.slice(0, i + 1), false])
        }
      } finally {
        await limiter.close()
      }
    }),
    { numRuns: cases(150, 1500) },
  )
})
