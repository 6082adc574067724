import { elapsedMs } from '../../base/timers.js'
import { StoreError } from '../../base/errors.js'
import { isPromise, type MaybePromise } from '../../base/promises.js'
import type { Deadlines, Timed } from '../../failure/guard/deadlines.js'
import type { Request, Turn } from '../../requests/request.js'
import type { Verdict } from '../../requests/verdict.js'

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
  /**
   * Has units given back that this process holds on lease, if they are why the store denied a step, or gave it less than it asked
   * for. Resolves when they are back; undefined: the step would be denied again.
   */
  readonly makeRoom: (verdict: Verdict) => Promise<unknown> | undefined
}

/** The deadline that all asking for a request shares: for each of its steps, and for what is asked again. */
export class TurnClock implements Timed {
  readonly isAwaited = true
  sinceMs = 0
  older: Timed | undefined = undefined
  newer: Timed | undefined = undefined
  readonly #options: StepsOptions
  readonly #turn: Turn = { isOver: false }
  /** Answers the step that is being asked for, when time is up. */
  #onOver = (): void => {}

  /** @param beganMs when the request was asked for, in ms since the process started */
  constructor(options: StepsOptions, beganMs = elapsedMs()) {
    this.#options = options
    options.deadlines.add(this, beganMs)
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

  /** Asks once more where units that this process holds on lease were in the way. Else, or when time is up, the first verdict stands. */
  askAgain(first: Verdict, step: Request): MaybePromise<Verdict> {
    const room = this.#turn.isOver ? undefined : this.#options.makeRoom(first)
    return room ? this.askAfter(room, first, step) : first
  }

  askAfter(room: Promise<unknown>, first: Verdict, step: Request): Promise<Verdict> {
    const turn = this.#turn
    return new Promise((resolve) => {
      this.#onOver = () => resolve(first)
      void room.then(async () => {
        if (turn.isOver) return
        const verdict = await this.#options.ask({ ...step, turn })
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
