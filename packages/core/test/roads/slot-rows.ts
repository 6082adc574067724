// Who holds slots of one key, by the oracle: the requests in flight of each process, and when the store may forget them.
import type { Bounds } from './counter.js'

/** How long a store keeps the slots of a process after its last one. */
const KEPT_MS = 14_000

interface Row {
  held: number
  /** Until then the store has the row, in µs; from then on it may have ended. */
  endsUs: number
}

export class SlotRows {
  readonly #rows = new Map<number, Row>()
  /** Quotas of the limits that took slots. */
  readonly quotas = new Set<number>()

  take(process: number, at: number): void {
    const row = this.#rowOf(process)
    row.held += 1
    row.endsUs = endOf(at)
  }

  release(process: number): void {
    this.#rowOf(process).held -= 1
  }

  /** The store has forgotten all; `process` has told of its slots again. */
  forget(process: number, at: number): void {
    for (const [holder, row] of this.#rows) row.endsUs = holder === process ? endOf(at) : at
  }

  /** @param asker the process that asks, which tells of its own; undefined if none is told of */
  held(now: number, asker?: number): Bounds {
    let least = 0
    let most = 0
    for (const [process, { held, endsUs }] of this.#rows) {
      if (process === asker || now < endsUs) least += held
      most += held
    }
    return { least, most }
  }

  #rowOf(process: number): Row {
    const row = this.#rows.get(process) ?? { held: 0, endsUs: 0 }
    this.#rows.set(process, row)
    return row
  }
}

function endOf(at: number): number {
  return (Math.floor(at / 1000) + KEPT_MS) * 1000
}
