// Units of one counter that are reserved, by the oracle.
import type { Bounds } from './counter.js'

interface Row {
  readonly units: number
  /** Until then it is surely held, and from `to` on surely not, in µs. */
  readonly from: number
  readonly to: number
}

export class ReservedUnits {
  readonly #rows = new Map<number, Row>()

  hold(id: number, row: Row): void {
    this.#rows.set(id, row)
  }

  get ids(): readonly number[] {
    return [...this.#rows.keys()]
  }

  end(id: number): void {
    this.#rows.delete(id)
  }

  held(now: number): Bounds {
    let least = 0
    let most = 0
    for (const { units, from, to } of this.#rows.values()) {
      if (now < from) least += units
      if (now < to) most += units
    }
    return { least, most }
  }
}
