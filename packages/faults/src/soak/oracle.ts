import type { Bound } from './plans.ts'

/** A unit that was let in, at some moment between these two, in ms since 1970. */
export interface LetIn {
  readonly tenant: string
  /** Who counted: the store, or one process alone. Each is held to the bound by itself. */
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
 * Counts what applications let in, by their own logs, against what each plan allows in any true window. It holds no
 * more than the last windows: once a window that begins with a unit is over and judged, that unit is forgotten.
 */
export class Oracle {
  /** The first ones, in words. */
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

  /** In any order. */
  add(letIn: LetIn): void {
    const name = `${letIn.by} ${letIn.tenant}`
    const ledger = this.#ledgers.get(name)
    if (ledger) ledger.push(letIn)
    else this.#ledgers.set(name, [letIn])
    this.#held += 1
    this.mostHeld = Math.max(this.mostHeld, this.#held)
  }

  /** The store forgot all it had counted, at some moment between these two. */
  lose(from: number, to: number): void {
    this.#losses.push({ from, to })
  }

  /** Judges every window that ended by `at`; nothing that was let in before that may be added later. */
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
    // Before each loss and after it there is a quota of its own.
    const bound = units * (1 + lost)
    if (inside <= bound) return
    this.violated += 1
    if (this.violations.length === MOST_TOLD) return
    const when = new Date(start).toISOString()
    this.violations.push(
      `${tenant} was let in ${inside} times by ${by} in ${windowMs} ms from ${when}, bound ${bound}`,
    )
  }
}
