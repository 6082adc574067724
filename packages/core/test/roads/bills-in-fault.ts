// What is billed before, during and after a fault: a top-up and a penalty count once however often they are repeated, as payment hooks repeat
// them; units beyond the quota are those that were let in; a warning comes at most once. The subject's billing day moves all the time.
import type { Decision, Limiter } from '../../src/index.js'
import type { Phase } from './fault-play.js'
import type { Case } from './tally.js'
import { answered, eventually } from './within.js'

/** The plan of the billed subject: it warns at the first unit, and denies nothing. */
export const BILLED = {
  limits: { quota: 100, window: 'month', overage: true },
  warnAt: [0.01],
} as const

const [UNITS, PENALTY] = [7, 5]
const LATER = { until: '2100-01-01T00:00:00Z' } as const

export class BillsInFault {
  readonly #case: Case
  readonly #limiter: Limiter
  /** Of another process, whose connection has no fault. */
  readonly #direct: Limiter
  /** Units that the subject has used: at least `least`, at most `most`. */
  #least = 0
  #most = 0
  /** Units that this process let in by itself, and owes to the store. */
  owed = 0
  #warnings = 0

  constructor(given: Case, limiter: Limiter, direct: Limiter) {
    this.#case = given
    this.#limiter = limiter
    this.#direct = direct
    for (const one of [limiter, direct]) one.on('nearLimit', () => void (this.#warnings += 1))
  }

  async phase(phase: Phase): Promise<void> {
    if (phase === 'before') await this.#bookAll(this.#limiter, ['first'])
    // Nobody waits for these: the store may be silent. Whether they were booked is not known.
    if (phase === 'during') for (const key of ['first', 'second']) void this.#book(this.#limiter, key)
    if (phase === 'after') await this.#bookAll(this.#limiter, ['first', 'second'])
  }

  forget(): void {
    this.#least = 0
  }

  async #bookAll(limiter: Limiter, keys: readonly string[]): Promise<void> {
    for (const key of keys) await eventually(() => this.#book(limiter, key))
  }

  async #book(limiter: Limiter, key: string): Promise<boolean> {
    const calls = [
      limiter.topUp(subject(15), { limit: 'month', units: UNITS, key: `top-up ${key}`, ...LATER }),
      limiter.penalize(subject(20), { limit: 'month', units: PENALTY, key: `penalty ${key}` }),
    ]
    const booked = Promise.all(calls).then(
      () => true,
      () => false,
    )
    await Promise.allSettled(calls)
    return answered(booked, 'a booking')
  }

  /** @param wasSent whether the request can have reached the server */
  async consume(day: number, wasSent: boolean): Promise<void> {
    this.#enter(await answered(this.#limiter.consume(subject(day)), 'a request'), wasSent)
  }

  #enter({ allowed, source }: Decision, wasSent: boolean): void {
    if (source === 'store') {
      this.#least += 1
      this.#most += 1
      return
    }
    const isOwed = source === 'local' && allowed
    if (isOwed) this.owed += 1
    this.#least += isOwed ? 1 : 0
    this.#most += (isOwed ? 1 : 0) + (wasSent ? 1 : 0)
  }

  /**
   * Asks the other process, after both bookings were repeated until they were answered.
   *
   * @param dropped   units that are owed no more
   * @param losesData whether the store has begun anew
   */
  async audit(dropped: number, losesData: boolean): Promise<void> {
    await this.#bookAll(this.#direct, ['first', 'second'])
    const least = Math.max(this.#least - dropped, 0) + 2 * PENALTY
    const most = this.#most + 2 * PENALTY
    let says = ''
    const isSo = async (): Promise<boolean> => {
      const usage = await answered(this.#direct.usageOf(subject(15), { limit: 'month' }), 'a usage')
      const { limits } = await answered(this.#direct.peek(subject(15)), 'a look')
      const { used = NaN } = usage.running ?? {}
      const { toppedUp } = limits[0] ?? {}
      says = `${used} used, not ${least}..${most}; ${toppedUp} topped up, not ${2 * UNITS}`
      return used >= least && used <= most && toppedUp === 2 * UNITS
    }
    await eventually(isSo)
    this.#case.check(11, await isSo(), () => says)
    const warnings = this.#warnings
    this.#case.check(1, warnings <= (losesData ? 2 : 1), () => `${warnings} warnings of one window and share`)
  }
}

function subject(anchor: number): { id: string; plan: string; anchor: number } {
  return { id: 'billed', plan: 'billed', anchor }
}
