// What processes note of the requests that they let run: in a file, so that what was noted is there after a kill -9.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import type { Use } from './metered.ts'

/** A request of one subject, from when it was let in until it gave its slot back. All times in µs. */
export interface Run {
  /** Its number in PLACES. */
  readonly place: number
  /** The number of its process: another for each that is started. */
  readonly by: number
  readonly from: number
  /** Infinity: it never ended. */
  readonly to: number
  /** Whether the store let it in, and not the failure policy. */
  readonly isOfStore: boolean
}

/** Numbers of a note: of which run, of which subject, a kind, when, and of units that were used until when. */
const FIELDS = 5
const BYTES = FIELDS * Float64Array.BYTES_PER_ELEMENT
const KIND = { store: 0, policy: 1, end: 2, use: 3 } as const

export class Notes {
  readonly #file: number
  readonly #note = new Float64Array(FIELDS)
  #runs = 0

  constructor(path: string) {
    this.#file = openSync(path, 'w')
  }

  /** Returns the number of the run, for its end. */
  begin(place: number, isOfStore: boolean, at: number): number {
    const run = (this.#runs += 1)
    this.#write(run, place, isOfStore ? KIND.store : KIND.policy, at, 0)
    return run
  }

  end(run: number, place: number, at: number): void {
    this.#write(run, place, KIND.end, at, 0)
  }

  use({ units, meter, from, to }: Use): void {
    this.#write(units, meter, KIND.use, from, to)
  }

  close(): void {
    closeSync(this.#file)
  }

  #write(...numbers: [what: number, where: number, kind: number, at: number, to: number]): void {
    this.#note.set(numbers)
    writeSync(this.#file, this.#note)
  }
}

export interface Read {
  readonly runs: readonly Run[]
  readonly uses: readonly Use[]
}

export function readNotes(path: string, by: number): Read {
  const bytes = readFileSync(path)
  const runs = new Map<number, Run>()
  const uses: Use[] = []
  for (let at = 0; at + BYTES <= bytes.length; at += BYTES) {
    const numbers = Array.from({ length: FIELDS }, (_, i) => bytes.readDoubleLE(at + 8 * i))
    const [run = 0, place = 0, kind = 0, time = 0, to = 0] = numbers
    const begun = runs.get(run)
    if (kind === KIND.use) uses.push({ units: run, meter: place, from: time, to })
    else if (kind !== KIND.end)
      runs.set(run, { place, by, from: time, to: Infinity, isOfStore: kind === KIND.store })
    else if (begun) runs.set(run, { ...begun, to: time })
  }
  return { runs: [...runs.values()], uses }
}
