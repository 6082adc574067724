import { StoreError } from '../../base/errors.js'
import { chain, type MaybePromise, isPromise } from '../../base/promises.js'
import { elapsedMs } from '../../base/timers.js'
import type { Timed } from '../../failure/guard/deadlines.js'
import { type Request, type SharedDeadline, type Verdict, unitsTaken } from '../../requests/request.js'
import type { Verdicts } from './verdicts.js'

/**
 * Asks for the steps of a request one after another. If one denies, the units of the steps before it go back, and its
 * numbers are the answer. Slots need no message to go back. All steps share one deadline. When it passes, the failure
 * policy decides the rest, and nothing more is sent.
 *
 * @returns the verdict on each step; a denial is the last
 */
export async function consumeInTurn(request: Request, verdicts: Verdicts): Promise<readonly Verdict[]> {
  const all: Verdict[] = []
  const asker = new StepAsker(verdicts)
  for (const step of request.steps ?? [request]) {
    const first = await asker.ask(step)
    const verdict = first.allowed ? first : await asker.askAgain(first, step)
    all.push(verdict)
    if (verdict.allowed) continue
    for (const taken of all.slice(0, -1)) void verdicts.giveBack(taken, taken.step.cost)
    break
  }
  asker.stop()
  for (const verdict of all) verdicts.decided(verdict)
  return all
}

/**
 * Takes as many more units as fit every limit. Each step is asked for at most what the steps before it gave. At the end,
 * each gives back what it took beyond the smallest amount.
 *
 * @returns the units taken from every limit
 */
export async function takeUpTo(request: Request, cost: number, verdicts: Verdicts): Promise<number> {
  const ofSteps: Verdict[][] = []
  const asker = new StepAsker(verdicts)
  let least = cost
  for (const step of request.steps ?? [request]) {
    const first = await asker.ask(askingUpTo(step, least))
    const lacking = least - takenBy(first)
    const again = lacking > 0 ? await asker.askAgain(first, askingUpTo(step, lacking)) : first
    const all = again === first ? [first] : [first, again]
    ofSteps.push(all)
    least = Math.min(least, sumTaken(all))
    if (least === 0) break
  }
  asker.stop()
  for (const all of ofSteps) {
    let excess = sumTaken(all) - least
    for (const verdict of all) {
      const units = Math.min(takenBy(verdict), excess)
      if (units > 0) void verdicts.giveBack(verdict, units)
      excess -= units
    }
  }
  for (const verdict of ofSteps.flat()) verdicts.decided(verdict)
  verdicts.noteTaken(ofSteps.flat())
  return least
}

/** A request for up to `cost` more units. It has its slots already. */
function askingUpTo(step: Request, cost: number): Request {
  const parts = step.parts.map((part) => ({ ...part, cost, slots: undefined }))
  return {
    ...step,
    cost,
    parts,
    grant: 'upTo',
    order: undefined,
    hold: undefined,
    steps: undefined,
    inFlight: undefined,
  }
}

/** Asks for one step, and once more if units that this process held on lease were in the way. */
export function askTwice(step: Request, verdicts: Verdicts): MaybePromise<Verdict> {
  const beganMs = elapsedMs()
  return chain(verdicts.ask(step), (denied) => {
    const room = denied.allowed ? undefined : verdicts.makeRoom(denied)
    return room ? askAfter({ room, denied, beganMs }, verdicts) : denied
  })
}

/**
 * Asks once more for a step that the store denied, when there is room. The first call's deadline still holds: when it
 * passes, the denial stands.
 */
export async function askAfter({ room, denied, beganMs }: Denied, verdicts: Verdicts): Promise<Verdict> {
  const asker = new StepAsker(verdicts, beganMs)
  const verdict = await asker.askAfter(room, denied, denied.step)
  asker.stop()
  verdicts.decided(verdict)
  return verdict
}

interface Denied {
  /** Resolves when there is room. */
  readonly room: Promise<unknown>
  readonly denied: Verdict
  /** When the request was asked for, in ms since the process started. */
  readonly beganMs: number
}

function sumTaken(verdicts: readonly Verdict[]): number {
  return verdicts.reduce((sum, verdict) => sum + takenBy(verdict), 0)
}

function takenBy({ step, outcome }: Verdict): number {
  return outcome ? unitsTaken(step, outcome) : 0
}

/** Asks for the steps of a request, and again where needed, all under one deadline. */
class StepAsker implements Timed {
  readonly isAwaited = true
  sinceMs = 0
  older: Timed | undefined = undefined
  newer: Timed | undefined = undefined
  readonly #verdicts: Verdicts
  readonly #deadline: SharedDeadline = { isOver: false }
  /** Answers the step that is being asked for when the deadline has passed. */
  #onOver = (): void => {}

  /** @param beganMs when the request was asked for, in ms since the process started */
  constructor(verdicts: Verdicts, beganMs = elapsedMs()) {
    this.#verdicts = verdicts
    verdicts.deadlines.add(this, beganMs)
  }

  stop(): void {
    if (!this.#deadline.isOver) this.#verdicts.deadlines.remove(this)
  }

  expire(): void {
    this.#deadline.isOver = true
    this.#onOver()
  }

  ask(given: Request): MaybePromise<Verdict> {
    const deadline = this.#deadline
    const step = { ...given, deadline }
    if (deadline.isOver) return this.#fallBack(step)
    const asked = this.#verdicts.ask(step)
    if (!isPromise(asked)) return asked
    return new Promise((resolve) => {
      this.#onOver = () => resolve(this.#fallBack(step))
      void asked.then((verdict) => {
        // The store may still decide it late.
        if (deadline.isOver) this.#verdicts.late(verdict)
        else resolve(verdict)
      })
    })
  }

  /**
   * Asks once more if units that this process held on lease were in the way. Otherwise, or after the deadline, the first
   * verdict stands.
   */
  askAgain(first: Verdict, step: Request): MaybePromise<Verdict> {
    const room = this.#deadline.isOver ? undefined : this.#verdicts.makeRoom(first)
    return room ? this.askAfter(room, first, step) : first
  }

  askAfter(room: Promise<unknown>, first: Verdict, step: Request): Promise<Verdict> {
    const deadline = this.#deadline
    return new Promise((resolve) => {
      this.#onOver = () => resolve(first)
      void room.then(async () => {
        if (deadline.isOver) return
        const verdict = await this.#verdicts.ask({ ...step, deadline })
        if (deadline.isOver) this.#verdicts.late(verdict)
        else resolve(verdict)
      })
    })
  }

  #fallBack(step: Request): Verdict {
    const message = `the store did not answer within ${this.#verdicts.deadlines.deadlineMs} ms`
    return this.#verdicts.fallBack(step, new StoreError(message, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }))
  }
}
