import { elapsedMs } from '../../base/timers.js'

export interface ReservationStats {
  /** Reservations that hold units now. */
  readonly held: number
  /** Each was committed or cancelled, has ended by itself, or is held. */
  readonly made: number
  readonly committed: number
  readonly cancelled: number
}

/** Counts reservations. Those that end by themselves tell nobody, so they are sorted out when there is a reason to look. */
export class ReservationCounts {
  readonly #counts = { made: 0, committed: 0, cancelled: 0 }
  /** By when they end, in ms since the process started. */
  #open = new Set<{ readonly endsAtMs: number }>()
  #sortOutAt = 1024

  made(endsAtMs: number): (how: 'committed' | 'cancelled') => void {
    const one = { endsAtMs }
    this.#counts.made += 1
    this.#open.add(one)
    if (this.#open.size > this.#sortOutAt) {
      this.#sortOut()
      this.#sortOutAt = Math.max(1024, 2 * this.#open.size)
    }
    return (how) => {
      this.#open.delete(one)
      this.#counts[how] += 1
    }
  }

  read(): ReservationStats {
    this.#sortOut()
    return { held: this.#open.size, ...this.#counts }
  }

  #sortOut(): void {
    const nowMs = elapsedMs()
    for (const one of this.#open) if (one.endsAtMs <= nowMs) this.#open.delete(one)
  }
}
