import { StoreError } from '../../base/errors.js'
import { chain, type MaybePromise, isPromise } from '../../base/promises.js'
import { elapsedMs } from '../../base/timers.js'
import type { Deadlines, Timed } from '../../failure/guard/deadlines.js'
import type { Request, Turn } from '../../requests/request.js'
import { unitsTaken, type Verdict } from '../../requests/verdict.js'

export type { StepsOptions }

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
    const first = await clock.ask(step)
    const verdict = first.allowed ? first : await clock.askAgain(first, step)
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
  /** Of each step. */
  const verdicts: Verdict[][] = []
  const clock = new TurnClock(options)
  let least = cost
  for (const step of request.steps ?? [request]) {
    const first = await clock.ask(askingUpTo(step, least))
    const lacking = least - takenBy(first)
    const again = lacking > 0 ? await clock.askAgain(first, askingUpTo(step, lacking)) : first
    const all = again === first ? [first] : [first, again]
    verdicts.push(all)
    least = Math.min(least, sumTaken(all))
    if (least === 0) break
  }
  clock.stop()
  for (const all of verdicts) {
    let excess = sumTaken(all) - least
    for (const verdict of all) {
      const units = Math.min(takenBy(verdict), excess)
      if (units > 0) options.giveBack(verdict, units)
      excess -= units
    }
  }
  verdicts.flat().forEach(options.onDecided)
  return least
}

/** The request has its slots already. */
function askingUpTo(step: Request, cost: number): Request {
  const parts = step.parts.map((part) => ({ ...part, cost, slots: undefined }))
  return { ...step, cost, parts, grant: 'upTo', steps: undefined, inFlight: undefined }
}

/** Asks for one step, and once more where units that this process holds on lease were in the way. */
export function askTwice(step: Request, options: StepsOptions): MaybePromise<Verdict> {
  const beganMs = elapsedMs()
  return chain(options.ask(step), (first) => {
    const room = first.allowed ? undefined : options.makeRoom(first)
    return room ? askAfter(room, first, { ...options, beganMs }) : first
  })
}

/**
 * Asks once more for a step that the store denied, when there is room. All ends by the deadline of the first time: then the denial
 * stands.
 */
export async function askAfter(
  room: Promise<unknown>,
  denied: Verdict,
  options: StepsOptions & { readonly beganMs: number },
): Promise<Verdict> {
  const clock = new TurnClock(options, options.beganMs)
  const verdict = await clock.askAfter(room, denied, denied.step)
  clock.stop()
  options.onDecided(verdict)
  return verdict
}

function sumTaken(verdicts: readonly Verdict[]): number {
  return verdicts.reduce((sum, verdict) => sum + takenBy(verdict), 0)
}

function takenBy({ step, outcome }: Verdict): number {
  return outcome ? unitsTaken(step, outcome) : 0
}

interface StepsOptions {
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
class TurnClock implements Timed {
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
