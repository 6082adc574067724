// Compares decisions of leasing processes with the oracle.
import type { Decision } from '../../src/index.js'
import type { Bounds } from './counter.js'
import type { LeaseOracle } from './lease-oracle.js'
import { capacityOf } from './limits.js'
import type { Line } from './lines.js'
import type { Case } from './tally.js'

export interface LeaseAsked {
  readonly lines: readonly Line[]
  readonly cost: number
  /** In µs. */
  readonly now: number
  readonly isHostile: boolean
}

export class LeaseJudge {
  readonly #oracle: LeaseOracle
  readonly #case: Case

  constructor(oracle: LeaseOracle, given: Case) {
    this.#oracle = oracle
    this.#case = given
  }

  /** Law 9: the store or a lease has decided. A lease never denies, and tells no numbers. */
  answered({ source, allowed, limits }: Decision): void {
    const holds =
      source === 'store' ? limits.length > 0 : source === 'lease' && allowed && limits.length === 0
    this.#case.check(9, holds, () => `decided by ${source}: ${allowed}, ${limits.length} limits`)
  }

  /** Law 1, and 3: what was taken at once fitted, whoever took it. Once the units are in the ledger. */
  neverOver(lines: readonly Line[], now: number): void {
    for (const line of lines) {
      const { units, worst, used, capacity } = this.#oracle.inForce(line, now)
      this.#case.check(
        1,
        units <= worst,
        () => `${units} units in a window of ${show(line)}, at most ${worst}`,
      )
      this.#case.check(3, used <= capacity, () => `${used} units count in ${show(line)}, at most ${capacity}`)
    }
  }

  /**
   * Law 3 of numbers told while units may be on lease: never more than were left.
   *
   * @param before by line: units left before the requests of this moment
   * @param taken  units that the decision took of each
   */
  atMost(decision: Decision, asked: LeaseAsked, before: readonly Bounds[], taken: number, law = 3): void {
    const { lines, cost } = asked
    for (const [{ remaining, quota }, line, i] of matched(decision, lines)) {
      const most = Math.max((before[i]?.most ?? 0) - taken, 0)
      const holds = remaining <= most && quota === line.spec.quota
      this.#each(
        law,
        line,
        asked,
        holds,
        () => `${show(line)}: ${remaining} of ${quota} left, at most ${most}`,
      )
      const isViolated = decision.violated.includes(line.name)
      const fits = !isViolated || remaining < cost
      this.#case.check(3, fits, () => `violated ${show(line)}, and ${remaining} were left for ${cost}`)
    }
  }

  /** `remaining` of each limit when nothing is on lease: exactly what the ledger leaves. */
  exact(decision: Decision, asked: LeaseAsked, law: 2 | 3): void {
    for (const [{ remaining, quota }, line] of matched(decision, asked.lines)) {
      const { least, most } = this.#oracle.room(line, asked.now)
      const holds = remaining >= least && remaining <= most && quota === line.spec.quota
      const says = (): string =>
        `${show(line)}: ${remaining} of ${quota} left, not ${least}..${most}, none on lease`
      this.#each(law, line, asked, holds, says)
    }
  }

  /** Laws 3 and 4 when nothing is on lease: allowed exactly when there was room, and the wait is exact. */
  verdict(decision: Decision, { lines, cost, now }: LeaseAsked, before: readonly Bounds[]): void {
    const told = matched(decision, lines)
    const says = (): string => {
      const rooms = told.map(([{ remaining }, line, i]) => [show(line), remaining, before[i]])
      return `${decision.allowed} for ${cost}, retry ${decision.retryAfterMs}: ${JSON.stringify(rooms)}`
    }
    const fits = (end: 'least' | 'most'): boolean => told.every(([, , i]) => (before[i]?.[end] ?? 0) >= cost)
    this.#case.check(3, decision.allowed ? fits('most') : !fits('least'), says)
    const wait = decision.retryAfterMs
    if (decision.allowed || wait === null) return
    const roomsAt = (ms: number): Bounds[] => told.map(([, line]) => this.#oracle.room(line, now + ms * 1000))
    const [then, earlier] = [roomsAt(wait), roomsAt(wait - 1)]
    const holds = then.every(({ most }) => most >= cost) && earlier.some(({ least }) => least < cost)
    this.#case.check(4, wait > 0 && holds, () => `${says()}; then ${JSON.stringify({ earlier, then })}`)
  }

  /** Law 3: units that a process holds itself do not deny its requests. Of a process that is alone, and one request. */
  denied(decision: Decision, { lines, cost }: LeaseAsked, before: readonly Bounds[]): void {
    const rooms = matched(decision, lines).map(([{ name }, , i]) => [name, before[i]] as const)
    const lacks = rooms.some(([, room]) => (room?.least ?? 0) < cost)
    this.#case.check(3, lacks, () => `${cost} were denied, and there were ${JSON.stringify(rooms)}`)
  }

  /** Law 4: there is no wait exactly when the cost never fits. */
  retry({ retryAfterMs, violated }: Decision, { lines, cost }: LeaseAsked): void {
    const denied = lines.filter(({ name }) => violated.includes(name))
    const never = denied.some(({ spec }) => capacityOf(spec) < cost)
    const holds = never ? retryAfterMs === null : retryAfterMs !== null && retryAfterMs > 0
    this.#case.check(4, holds, () => `retry ${retryAfterMs} for ${cost} of ${denied.map(show).join('; ')}`)
  }

  #each(law: number, line: Line, { isHostile }: LeaseAsked, holds: boolean, says: () => string): void {
    this.#case.check(law, holds, says)
    if (isHostile) this.#case.check(10, holds, says)
    if (this.#oracle.hasMoved(line)) this.#case.check(7, holds, says)
  }
}

/** The limits that a decision tells, with their lines and the index of the line. */
function matched(
  { limits }: Decision,
  lines: readonly Line[],
): (readonly [Decision['limits'][number], Line, number])[] {
  return limits.flatMap((limit) => {
    const i = lines.findIndex(({ name }) => name === limit.name)
    const line = lines[i]
    return line ? [[limit, line, i] as const] : []
  })
}

function show({ name, key, spec }: Line): string {
  return `${name} ${key.slice(0, 60)} of ${capacityOf(spec)}`
}
