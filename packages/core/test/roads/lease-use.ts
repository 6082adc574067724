// Units that a request used, in the oracle of processes that lease.
import type { Bounds } from './counter.js'

/** Times in µs. */
export interface Use {
  readonly id: number
  readonly at: number
  /** The latest time that the limit may count it at: `at` if the store decided it. */
  readonly upTo: number
  readonly units: number
  /** False: it may never have counted, such as units that were lost. */
  readonly isSure: boolean
  readonly gives: Give[]
}

export interface Give extends Bounds {
  readonly at: number
}

/** How many units of a request were not given back. */
export function heldOf({ units, isSure, gives }: Use): Bounds {
  if (gives.length === 0) return { least: isSure ? units : 0, most: units }
  let [least, most] = [isSure ? units : 0, units]
  for (const give of gives) {
    least -= give.most
    most -= give.least
  }
  return { least: Math.max(least, 0), most }
}
