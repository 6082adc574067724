import type { Request } from '../requests/request.js'
import type { Verdict } from '../requests/verdict.js'
import type { Outcome } from '../stores/contract.js'
import type { FastPath, FastPathHost, ForgetReason } from './fast-path.js'

/** The fast paths of a limiter, in the order in which they are asked. */
export class FastPaths {
  readonly #paths: readonly FastPath[]
  /** Those for requests with limits. */
  readonly #ofCounted: readonly FastPath[]
  /** Those that do more than answer. */
  readonly #learning: readonly FastPath[]

  constructor(paths: readonly FastPath[], host: FastPathHost) {
    this.#paths = paths
    this.#ofCounted = paths.filter(({ ofUncounted }) => !ofUncounted)
    this.#learning = paths.filter(({ learn, forget }) => learn ?? forget)
    for (const path of paths) path.start?.(host)
  }

  /** How many leases can be served from now. */
  get held(): number {
    return this.#paths.reduce((sum, { held = 0 }) => sum + held, 0)
  }

  /** The verdict of the first path that knows it. */
  answer(request: Request, isPeek = false): Verdict | undefined {
    const paths = request.parts.length === 0 ? this.#paths : this.#ofCounted
    for (const path of paths) {
      const known = path.answer(request, isPeek)
      if (known) return known
    }
    return undefined
  }

  /** Tells all paths the store's outcome for a caller's request. */
  learn(request: Request, outcome: Outcome, sentAtMs: number, isPeek: boolean): void {
    for (const path of this.#learning) path.learn?.(request, outcome, sentAtMs, isPeek)
  }

  /** Has units given back that stand in the way of a request: see FastPath. */
  makeRoom(request: Request, outcome: Outcome): Promise<unknown> | undefined {
    for (const path of this.#learning) {
      const room = path.makeRoom?.(request, outcome)
      if (room) return room
    }
    return undefined
  }

  /** @param keys undefined: all */
  forget(reason: ForgetReason, keys?: readonly string[]): void {
    for (const path of this.#learning) path.forget?.(reason, keys)
  }
}
