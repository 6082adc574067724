import { clearTimeout, setImmediate, setTimeout } from '../base/timers.js'
import { StoreError } from '../base/errors.js'
import type { MaybePromise } from '../base/maybe-promise.js'
import type { Request, Turn } from '../requests/request.js'
import { unitsTaken, type Verdict } from '../requests/verdict.js'

export interface StepsOptions {
  readonly deadlineMs: number
  /** Asks the store, or answers for it. Never rejects. */
  readonly ask: (step: Request) => MaybePromise<Verdict>
  /** What the failure policy says of a step that the store cannot be asked any more. */
  readonly fallBack: (step: Request, error: StoreError) => Verdict
  /** The store answered a step whose time was over. */
  readonly onLate: (late: Verdict) => void
  /** Gives back units that a step took of each limit. */
  readonly giveBack: (verdict: Verdict, units: number) => void
  /** What a step took stays taken, but for what has gone back by then. */
  readonly onDecided: (verdict: Verdict) => void
}

/**
 * Asks the steps of a request one after another, and gives back what was taken when one denies: nothing is allowed for
 * free, and the denial keeps its own numbers. All steps have one deadline together: what is not answered by then is
 * left to the failure policy, and nothing more is sent.
 *
 * @returns what each step was answered; a denial comes last
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
 * Takes as many more units as fit every limit: of each step at most what the steps before it gave, and what they gave
 * beyond the least goes back.
 *
 * @returns the units taken of every limit
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

/** The time that the steps of a request have together. */
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
      // A reply that came while the process was busy is read before the immediate: it is not the store that is late.
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
    // It may have been counted all the same.
    void asked.then((late) => this.#options.onLate(late))
    return this.#fallBack(step)
  }

  #fallBack(step: Request): Verdict {
    const message = `the store did not answer within ${this.#options.deadlineMs} ms`
    return this.#options.fallBack(step, new StoreError(message, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }))
  }
}
