import { clearTimeout, setImmediate, setTimeout } from '../base/timers.js'
import { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Request, Turn } from '../requests/request.js'
import { unitsTaken, type Verdict } from '../requests/verdict.js'

export interface StepsOptions {
  readonly deadlineMs: number
  /** Has one step decided, by the store or its fallback. Never rejects. */
  readonly ask: (step: Request) => MaybePromise<Verdict>
  /** The failure policy's verdict on a step that the store can no longer decide. */
  readonly fallBack: (step: Request, error: StoreError) => Verdict
  /** Called when the store answers a step after the deadline. */
  readonly onLate: (late: Verdict) => void
  /** Gives back units that a step took from each limit. */
  readonly giveBack: (verdict: Verdict, units: number) => void
  /** Called for each step when the request is decided, after excess units were given back. */
  readonly onDecided: (verdict: Verdict) => void
}

/**
 * Asks the steps of a request one after another. When one denies, the units of the steps before it go back, and its own
 * numbers are the answer. All steps share one deadline. When it passes, the failure policy decides the rest, and
 * nothing more is sent.
 *
 * @returns the verdict on each step; a denial is the last
 */
export async function consumeInTurn(request: Request, options: StepsOptions): Promise<readonly Verdict[]> {
  const verdicts: Verdict[] = []
  const clock = new TurnClock(options)
  for (const step of request.steps ?? [request]) {
    const verdict = await clock.ask(step)
    verdicts.push(verdict)
    if (verdict.allowed) continue
    for (const taken of verdicts.slice(0, -1)) options.giveBack(taken, taken.step.cost)
    break
  }
  clock.stop()
  verdicts.forEach(options.onDecided)
  return verdicts
}

/**
 * Takes as many more units as fit every limit. Each step is asked for at most what the steps before it gave; at the
 * end, each gives back what is more than the least.
 *
 * @returns the units taken from every limit
 */
export async function takeUpTo(request: Request, cost: number, options: StepsOptions): Promise<number> {
  const verdicts: Verdict[] = []
  const clock = new TurnClock(options)
  let least = cost
  for (const step of request.steps ?? [request]) {
    const parts = step.parts.map((part) => ({ ...part, cost: least }))
    const verdict = await clock.ask({ ...step, cost: least, parts, grant: 'upTo', steps: undefined })
    verdicts.push(verdict)
    least = Math.min(least, takenBy(verdict))
    if (least === 0) break
  }
  clock.stop()
  for (const verdict of verdicts) {
    const excess = takenBy(verdict) - least
    if (excess > 0) options.giveBack(verdict, excess)
  }
  verdicts.forEach(options.onDecided)
  return least
}

function takenBy({ step, outcome }: Verdict): number {
  return outcome ? unitsTaken(step, outcome) : 0
}

/** The deadline that the steps of a request share. */
class TurnClock {
  readonly #options: StepsOptions
  readonly #turn: Turn = { isOver: false }
  readonly #over: Promise<undefined>
  #timer: NodeJS.Timeout | undefined

  constructor(options: StepsOptions) {
    this.#options = options
    this.#over = new Promise((resolve) => {
      const end = (): void => {
        this.#turn.isOver = true
        resolve(undefined)
      }
      // When the process was busy, replies that have arrived are read before the immediate runs: they are not late.
      this.#timer = setTimeout(() => setImmediate(end), options.deadlineMs)
    })
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  async ask(given: Request): Promise<Verdict> {
    const step = { ...given, turn: this.#turn }
    if (this.#turn.isOver) return this.#fallBack(step)
    const asked = Promise.resolve(this.#options.ask(step))
    const verdict = await Promise.race([asked, this.#over])
    if (verdict) return verdict
    // The store may still decide it.
    void asked.then((late) => this.#options.onLate(late))
    return this.#fallBack(step)
  }

  #fallBack(step: Request): Verdict {
    const message = `the store did not answer within ${this.#options.deadlineMs} ms`
    return this.#options.fallBack(step, new StoreError(message, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }))
  }
}
