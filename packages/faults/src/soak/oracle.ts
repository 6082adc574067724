import type { Bound } from './plans.ts'

/** A unit that was allowed at some moment between `from` and `to`, in ms of one clock. */
export interface LetIn {
  readonly tenant: string
  /** What counted the unit: the store, or one process by itself. The units of each must stay within the bound. */
  readonly by: string
  readonly from: number
  readonly to: number
}

interface Loss {
  readonly from: number
  readonly to: number
}

const CLOCKS_PART_MS = 2
const MOST_TOLD = 20

/**
 * Compares the units that applications allowed, by their own logs, with what each plan permits in any true window.
 * Holds only the last windows: a unit is forgotten once the window that begins with it is over and judged.
 */
export class Oracle {
  /** The first violations, in words. */
  readonly violations: string[] = []
  violated = 0
  judged = 0
  mostHeld = 0
  readonly #boundsOf: (tenant: string) => readonly Bound[]
  readonly #ledgers = new Map<string, LetIn[]>()
  #losses: Loss[] = []
  #held = 0

  constructor(boundsOf: (tenant: string) => readonly Bound[]) {
    this.#boundsOf = boundsOf
  }

  /** Adds a unit, in any order. */
  add(letIn: LetIn): void {
    const name = `${letIn.by} ${letIn.tenant}`
    const ledger = this.#ledgers.get(name)
    if (ledger) ledger.push(letIn)
    else this.#ledgers.set(name, [letIn])
    this.#held += 1
    this.mostHeld = Math.max(this.mostHeld, this.#held)
  }

  /** Records that the store lost all counts at some moment between `from` and `to`. */
  lose(from: number, to: number): void {
    this.#losses.push({ from, to })
  }

  /** Judges every window that ended by `at`. After this, no units from before `at` may be added. */
  judge(at: number): void {
    let oldest = at
    for (const [name, ledger] of this.#ledgers) {
      const [first] = ledger
      if (!first) continue
      const bounds = this.#boundsOf(first.tenant)
      const longestMs = Math.max(...bounds.map(({ windowMs }) => windowMs))
      const sorted = ledger.toSorted((a, b) => a.from - b.from)
      let done = 0
      for (; done < sorted.length && (sorted[done] as LetIn).from + longestMs <= at; done += 1) {
        for (const bound of bounds) this.#judgeWindow(sorted, done, bound)
      }
      const left = sorted.slice(done)
      this.#held -= done
      if (left[0]) {
        this.#ledgers.set(name, left)
        oldest = Math.min(oldest, left[0].from)
      } else this.#ledgers.delete(name)
    }
    this.#losses = this.#losses.filter(({ to }) => to >= oldest)
  }

  #judgeWindow(sorted: readonly LetIn[], first: number, { windowMs, units }: Bound): void {
    this.judged += 1
    const { from: start, tenant, by } = sorted[first] as LetIn
    const end = start + windowMs - CLOCKS_PART_MS
    let inside = 0
    for (let i = first; i < sorted.length; i += 1) {
      const { from, to } = sorted[i] as LetIn
      if (from >= end) break
      if (to < end) inside += 1
    }
    const lost = by === 'store' ? this.#losses.filter(({ from, to }) => from < end && to > start).length : 0
    // After each loss of its counts, the store may allow one more quota.
    const bound = units * (1 + lost)
    if (inside <= bound) return
    this.violated += 1
    if (this.violations.length === MOST_TOLD) return
    this.violations.push(
      `${tenant} was let in ${inside} times by ${by} in ${windowMs} ms from ${Math.round(start)} on, bound ${bound}`,
    )
  }
}
