// Holds decisions against the oracle.
import type { Decision } from '../../src/index.js'
import { capacityOf } from './limits.js'
import type { Line, Oracle } from './oracle.js'
import type { Case } from './tally.js'

const MS = 1000

export interface Asked {
  readonly lines: readonly Line[]
  readonly cost: number
  /** In µs. */
  readonly now: number
  /** Whether one of the subjects has an id that was chosen to do harm. */
  readonly isHostile: boolean
}

/** How many keys' worth of limits may be decided apart, one after another, and so not in one step. */
export type Steps = 'one step' | 'several steps'

/** What of a road the judge must know. */
export interface Circumstances {
  /** Real time passes, which the oracle does not see: windows are long, and what is said of waits is not judged. */
  readonly isLive?: boolean
  /** A law that the whole road is about: what is left is held against it too. */
  readonly law?: number
}

export class Judge {
  readonly #oracle: Oracle
  readonly #case: Case
  readonly #is: Circumstances

  constructor(oracle: Oracle, given: Case, is: Circumstances) {
    this.#oracle = oracle
    this.#case = given
    this.#is = is
  }

  /** Law 9: it is a decision of the store. */
  answered(decision: Decision): boolean {
    this.#case.check(9, decision.source === 'store', () => `decided by ${decision.source}`)
    return decision.source === 'store'
  }

  /** Law 3, before the units are taken: what was left decides, no more and no less. */
  verdict(decision: Decision, { lines, cost, now }: Asked): void {
    const { surely, possibly } = this.#oracle.fits(lines, cost, now)
    const says = (): string => `cost ${cost}, ${this.#show(lines, now)}, told ${show(decision)}`
    if (decision.allowed) this.#case.check(3, possibly, () => `allowed without room: ${says()}`)
    else this.#case.check(3, !surely, () => `denied with room: ${says()}`)
    if (!decision.allowed && this.#isWhole(decision, lines)) {
      const lacking = lines.filter((line) => this.#oracle.room(line, now).most < cost).length
      this.#case.check(
        3,
        decision.violated.length >= lacking,
        () => `violated ${decision.violated.length}: ${says()}`,
      )
    }
  }

  /** Law 1, once the units are in the ledger. */
  neverOver(lines: readonly Line[], now: number): void {
    for (const line of lines) {
      const { units, worst } = this.#oracle.inForce(line, now)
      this.#case.check(1, units <= worst, () => `${units} units in a window of ${line.key}, at most ${worst}`)
    }
  }

  /** What is told of each limit, after the units were taken: laws 3, 4 and 7. */
  told(decision: Decision, asked: Asked): void {
    const { lines, now } = asked
    this.#case.check(
      3,
      this.#isWhole(decision, lines),
      () => `told ${decision.limits.length} of ${lines.length} limits`,
    )
    this.remaining(decision, asked, 3)
    if (this.#is.isLive) return
    decision.limits.forEach(({ remaining, resetMs }, i) => {
      const line = lines[i]
      if (!line || remaining >= capacityOf(line.spec)) return
      const after = this.#oracle.room(line, now + resetMs * MS).most
      const before = this.#oracle.room(line, now + Math.max(resetMs - 1, 0) * MS).least
      const holds = after > remaining && (before <= remaining || resetMs === 0)
      this.#case.check(4, holds, () => `reset ${resetMs} of ${remaining} left: ${before}, then ${after}`)
    })
  }

  /** What is told to be left, by a decision or a look at the quiet store. */
  remaining(decision: Decision, { lines, now, isHostile }: Asked, law: 2 | 3): void {
    const laws = [law, ...(isHostile ? [10] : []), ...(this.#is.law === undefined ? [] : [this.#is.law])]
    decision.limits.forEach(({ remaining, quota }, i) => {
      const line = lines[i]
      if (!line) return
      const { least, most } = this.#oracle.room(line, now)
      const holds = remaining >= least && remaining <= most && quota === line.spec.quota
      const says = (): string =>
        `${remaining} of ${quota} left, not ${least}..${most}: ${this.#show(lines, now)}`
      for (const one of this.#oracle.hasMoved(line) ? [...laws, 7] : laws) this.#case.check(one, holds, says)
    })
  }

  /** Whether what a look tells is what the ledger says: for what settles a moment later. */
  agrees(decision: Decision, { lines, now }: Asked): boolean {
    return decision.limits.every(({ remaining }, i) => {
      const room = this.#oracle.room(lines[i] as Line, now)
      return remaining >= room.least && remaining <= room.most
    })
  }

  /** Law 4: who waits as told is admitted, who comes a ms earlier is not. */
  retry(decision: Decision, { lines, cost, now }: Asked, steps: Steps): void {
    if (this.#is.isLive) return
    const wait = decision.retryAfterMs
    const never = lines.some(({ spec }) => capacityOf(spec) < cost)
    const says = (): string => `retry ${wait}, cost ${cost}, ${this.#show(lines, now)}`
    if (wait === null) return this.#case.check(4, never, says)
    const judged = steps === 'one step' ? [lines] : [lines, ...apart(lines)]
    const isRight = judged.some((some) => {
      const then = this.#oracle.fits(some, cost, now + wait * MS).possibly
      return wait > 0 && then && !this.#oracle.fits(some, cost, now + (wait - 1) * MS).surely
    })
    // Of several shards, the one that denies tells its own wait: another may deny for good.
    this.#case.check(4, isRight && (steps === 'several steps' || !never), says)
  }

  #isWhole(decision: Decision, lines: readonly Line[]): boolean {
    return decision.limits.length === lines.length
  }

  #show(lines: readonly Line[], now: number): string {
    const parts = lines.map((line) => {
      const { least, most } = this.#oracle.room(line, now)
      return `${line.key.slice(0, 80)} ${capacityOf(line.spec)} has ${least === most ? least : `${least}..${most}`}`
    })
    return parts.join('; ')
  }
}

/** By subject. */
function apart(lines: readonly Line[]): Line[][] {
  const owners = [...new Set(lines.map(({ owner }) => owner))]
  return owners.map((owner) => lines.filter((line) => line.owner === owner))
}

function show({ allowed, limits, retryAfterMs }: Decision): string {
  return JSON.stringify({ allowed, left: limits.map(({ remaining }) => remaining), retryAfterMs })
}
