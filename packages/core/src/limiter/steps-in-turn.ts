import { elapsedMs } from '../base/timers.js'
import { StoreError } from '../base/errors.js'
import { isPromise, type MaybePromise } from '../base/maybe-promise.js'
import type { Deadlines, Timed } from '../failure/deadlines.js'
import type { Request, Turn } from '../requests/request.js'
import { unitsTaken, type Verdict } from '../requests/verdict.js'

export interface StepsOptions {
  readonly deadlines: Deadlines
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
    // The request has its slots already.
    const parts = step.parts.map((part) => ({ ...part, cost: least, slots: undefined }))
    const asked = {
      ...step,
      cost: least,
      parts,
      grant: 'upTo',
      steps: undefined,
      inFlight: undefined,
    } as const
    const verdict = await clock.ask(asked)
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
class TurnClock implements Timed {
  readonly isAwaited = true
  sinceMs = 0
  older: Timed | undefined = undefined
  newer: Timed | undefined = undefined
  readonly #options: StepsOptions
  readonly #turn: Turn = { isOver: false }
  /** Has the failure policy decide the step that is being asked for. */
  #onOver = (): void => {}

  constructor(options: StepsOptions) {
    this.#options = options
    options.deadlines.add(this, elapsedMs())
  }

  stop(): void {
    if (!this.#turn.isOver) this.#options.deadlines.remove(this)
  }

  expire(): void {
    this.#turn.isOver = true
    this.#onOver()
  }

  ask(given: Request): MaybePromise<Verdict> {
    const turn = this.#turn
    const step = { ...given, turn }
    if (turn.isOver) return this.#fallBack(step)
    const asked = this.#options.ask(step)
    if (!isPromise(asked)) return asked
    return new Promise((resolve) => {
      this.#onOver = () => resolve(this.#fallBack(step))
      void asked.then((verdict) => {
        // The store may still decide it late.
        if (turn.isOver) this.#options.onLate(verdict)
        else resolve(verdict)
      })
    })
  }

  #fallBack(step: Request): Verdict {
    const message = `the store did not answer within ${this.#options.deadlines.deadlineMs} ms`
    return this.#options.fallBack(step, new StoreError(message, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }))
  }
}
