// Books top-ups as a payment hook does: each order has a key, comes again until it is answered, and once more after that.
import { setTimeout as sleep } from 'node:timers/promises'

/** Fewer than the keys that a subject may have. */
const MOST_ORDERS = 50
const [EVERY_MS, AGAIN_MS] = [100, 50]
/** How long it asks at the end what was booked, in ms. */
const LOOKING_MS = 3000

/** What was booked, as far as the application knows. */
export class Bookings {
  /** Orders that were sent, and those of them that were answered. */
  sent = 0
  answered = 0
  /** Orders that counted again when they were repeated. */
  countedAgain = 0
  #limiter
  #subject
  #terms
  #isOver = false
  #running

  constructor(limiter, { subject, ...terms }) {
    this.#limiter = limiter
    this.#subject = subject
    this.#terms = { ...terms, for: '1d' }
    this.#running = this.#run()
  }

  async #run() {
    for (let order = 1; order <= MOST_ORDERS && !this.#isOver; order += 1) {
      this.sent += 1
      const key = `order-${order}`
      let first
      while (!first && !this.#isOver) first = (await this.#book(key)) ?? (await sleep(AGAIN_MS))
      if (!first) return
      this.answered += 1
      const second = await this.#book(key)
      if (second && !second.isRepeated) this.countedAgain += 1
      await sleep(EVERY_MS)
    }
  }

  /** Undefined while the store does not answer. */
  async #book(key) {
    try {
      return await this.#limiter.topUp(this.#subject, { ...this.#terms, key })
    } catch (error) {
      if (!error.code?.startsWith('ERR_TOLLGATE_STORE')) throw error
      return undefined
    }
  }

  /** @returns what was booked, with the units that the store has of it; these are undefined if it does not say so */
  async end() {
    this.#isOver = true
    await this.#running
    const { sent, answered, countedAgain } = this
    return { sent, answered, countedAgain, units: await this.#units() }
  }

  async #units() {
    const until = performance.now() + LOOKING_MS
    while (performance.now() < until) {
      const { source, limits } = await this.#limiter.peek(this.#subject)
      if (source === 'store') return limits[0].toppedUp ?? 0
      await sleep(AGAIN_MS)
    }
    return undefined
  }
}
