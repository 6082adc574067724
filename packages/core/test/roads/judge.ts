// Compares decisions with the oracle.
import type { Decision } from '../../src/index.js'
import type { Bounds } from './counter.js'
import { capacityOf } from './limits.js'
import { groupsOf, isAskedBefore, isFlight, needOf, type Grouping, type Line } from './lines.js'
import type { Oracle } from './oracle.js'
import type { Case } from './tally.js'

const MS = 1000
/** What a client is told to wait for a request in flight to end. */
const HINT_MS = 1000

export interface Asked {
  readonly lines: readonly Line[]
  readonly cost: number
  /** In µs. */
  readonly now: number
  /** Whether one of the subjects has a hostile id. */
  readonly isHostile: boolean
}

/** Properties of a road that the judge needs. */
export interface Circumstances {
  /** Which keys of a request are decided in one step. Steps run one after another, and the first denial is the last. */
  readonly grouping: Grouping
  /** Whether the store uses real time, which the oracle cannot know. Then windows are long and waits are not judged. */
  readonly isLive?: boolean
  /** The law that the whole road tests: a wrong `remaining` breaks this law, too. */
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

  /** Law 9: the store has decided, or denied the same before, or a lease has: that never denies, and tells no numbers. */
  answered({ source, allowed, limits }: Decision): void {
    const isLeased = source === 'lease' && allowed && limits.length === 0
    const isStores = source === 'store' || (source === 'cache' && !allowed)
    this.#case.check(9, isStores || isLeased, () => `${allowed} by ${source}`)
  }

  /** Laws 3 and 4 of a denial from memory: right as of now, and what it tells is certain, even if it is not all. */
  fromMemory(decision: Decision, asked: Asked): void {
    const { lines, cost, now } = asked
    const violated = lines.filter(({ name }) => decision.violated.includes(name))
    const says = (): string => `cost ${cost}, ${this.#show(lines, now)}, told from memory ${show(decision)}`
    const isNamed = violated.length > 0 && violated.length === decision.violated.length
    this.#case.check(3, isNamed, () => `violated what is not asked: ${says()}`)
    for (const line of violated) {
      const isFull = this.#oracle.room(line, now).least < cost
      this.#case.check(3, isFull && !isFlight(line.spec), () => `${line.name} had room: ${says()}`)
    }
    this.told(decision, asked)
    this.#retry(decision, violated, asked)
  }

  /** The limits of the request that the decision lists, found by their names. */
  linesTold({ limits }: Decision, lines: readonly Line[]): Line[] {
    return limits.flatMap(({ name }) => lines.find((line) => line.name === name) ?? [])
  }

  /** Law 3: an allowed decision lists all limits, a denial those of the step that denied. */
  tellsWhole(decision: Decision, lines: readonly Line[]): void {
    const told = this.linesTold(decision, lines)
    const isPart = !decision.allowed && this.#is.grouping !== 'all'
    const whole = isPart
      ? groupsOf(lines, this.#is.grouping)
          .filter((group) => group.some((line) => told.includes(line)))
          .flat()
      : lines
    const names = (some: readonly { readonly name: string }[]): string => some.map(({ name }) => name).join()
    const wanted = names(lines.filter((line) => whole.includes(line)))
    const holds = names(decision.limits) === wanted && wanted !== ''
    this.#case.check(3, holds, () => `told of ${names(decision.limits)}, not ${wanted}`)
  }

  /** Law 3, before the units are in the ledger: a request is allowed exactly when there was room. */
  verdict(decision: Decision, { lines, cost, now }: Asked): void {
    const told = this.linesTold(decision, lines)
    const { surely, possibly } = this.#oracle.fits(told, cost, now)
    const says = (): string => `cost ${cost}, ${this.#show(lines, now)}, told ${show(decision)}`
    if (decision.allowed) return this.#case.check(3, possibly, () => `allowed without room: ${says()}`)
    this.#case.check(3, !surely, () => `denied with room: ${says()}`)
    for (const line of told) {
      const { least, most } = this.#oracle.room(line, now)
      const isViolated = decision.violated.includes(line.name)
      const need = needOf(line, cost)
      const isLess = (decision.limits.find(({ name }) => name === line.name)?.remaining ?? 0) < need
      const holds = isViolated ? least < need && isLess : most >= need
      this.#case.check(3, holds, () => `violated ${line.name}: ${says()}`)
      if (isViolated && isFlight(line.spec)) this.#case.full += 1
    }
    this.#case.check(
      3,
      decision.violated.every((name) => told.some((line) => line.name === name)),
      () => `violated what is not told: ${says()}`,
    )
  }

  /** Law 2: steps that are asked before the one that denied must have had room. */
  stepsInOrder(decision: Decision, { lines, cost, now }: Asked): void {
    const told = this.linesTold(decision, lines)
    for (const group of groupsOf(lines, this.#is.grouping)) {
      if (group.some((line) => told.includes(line)) || !isAskedBefore(group, told)) continue
      const { possibly } = this.#oracle.fits(group, cost, now)
      this.#case.check(2, possibly, () => `asked in another order: ${this.#show(lines, now)}`)
    }
  }

  /** Law 3: units that the asking process itself holds on lease never deny, where no other has any. */
  ownUnits(decision: Decision, { lines, cost, now }: Asked): void {
    const lacks = this.linesTold(decision, lines).some((line) => this.#oracle.spare(line, now).least < cost)
    this.#case.check(3, lacks, () => `cost ${cost} denied over units of its own: ${this.#show(lines, now)}`)
  }

  /** Laws 1 and 3, once the units are in the ledger. */
  neverOver(lines: readonly Line[], now: number): void {
    for (const line of lines) {
      const { window, atOnce } = this.#oracle.inForce(line, now)
      const says = ([units, most]: [number, number]): string => `${units} of ${line.key}, at most ${most}`
      this.#case.check(1, window[0] <= window[1], () => `in a window ${says(window)}`)
      this.#case.check(3, atOnce[0] <= atOnce[1], () => `at once ${says(atOnce)}`)
    }
  }

  /**
   * Law 3 of requests whose order is unknown: none is told of more than was left before all of them.
   *
   * @param rooms by line: units left then
   */
  atMost(decision: Decision, { lines, cost, isHostile }: Asked, rooms: readonly Bounds[]): void {
    for (const [{ remaining }, line] of this.#matched(decision, lines)) {
      const taken = decision.allowed ? needOf(line, cost) : 0
      const most = Math.max((rooms[lines.indexOf(line)]?.most ?? 0) - taken, 0)
      const says = (): string => `${line.name}: ${remaining} left, at most ${most} at once`
      for (const law of isHostile ? [3, 10] : [3]) this.#case.check(law, remaining <= most, says)
    }
  }

  /** Laws 3, 4 and 7, once the units are in the ledger: `remaining` and `resetMs` of each limit. */
  told(decision: Decision, asked: Asked): void {
    this.remaining(decision, asked, 3)
    if (this.#is.isLive) return
    for (const [{ remaining, resetMs }, line] of this.#matched(decision, asked.lines)) {
      if (remaining >= capacityOf(line.spec) || isFlight(line.spec)) continue
      if (this.#oracle.hasBeside(line, asked.now)) continue
      const after = this.#oracle.room(line, asked.now + resetMs * MS).most
      const before = this.#oracle.room(line, asked.now + Math.max(resetMs - 1, 0) * MS).least
      const holds = after > remaining && (before <= remaining || resetMs === 0)
      this.#case.check(4, holds, () => `reset ${resetMs} of ${remaining} left: ${before}, then ${after}`)
    }
  }

  /** Checks `remaining` of each limit, of a decision or of a peek when nothing is under way. */
  remaining(decision: Decision, { lines, now, isHostile }: Asked, law: 2 | 3): void {
    const laws = [law, ...(isHostile ? [10] : []), ...(this.#is.law === undefined ? [] : [this.#is.law])]
    for (const [{ remaining, quota }, line] of this.#matched(decision, lines)) {
      const { least, most } = this.#oracle.room(line, now)
      const holds = remaining >= least && remaining <= most && quota === line.spec.quota
      const says = (): string =>
        `${line.name}: ${remaining} of ${quota} left, not ${least}..${most}: ${this.#show(lines, now)}`
      for (const one of this.#oracle.hasMoved(line) ? [...laws, 7] : laws) this.#case.check(one, holds, says)
    }
  }

  /** Whether `remaining` is that of the ledger. No check: used to wait for units that go back a moment later. */
  agrees(decision: Decision, { lines, now }: Asked): boolean {
    return this.#matched(decision, lines).every(([{ remaining }, line]) => {
      const room = this.#oracle.room(line, now)
      return remaining >= room.least && remaining <= room.most
    })
  }

  /** Law 4: after `retryAfterMs` the limits that denied have room; 1 ms earlier they do not. */
  retry(decision: Decision, asked: Asked): void {
    this.#retry(decision, this.linesTold(decision, asked.lines), asked)
  }

  #retry(decision: Decision, told: readonly Line[], { cost, now }: Asked): void {
    if (this.#is.isLive) return
    const wait = decision.retryAfterMs
    const never = told.some(({ spec }) => !isFlight(spec) && capacityOf(spec) < cost)
    const says = (): string => `retry ${wait}, cost ${cost}, ${this.#show(told, now)}`
    if (wait === null || never) return this.#case.check(4, wait === null && never, says)
    if (told.some((line) => this.#oracle.hasBeside(line, now))) return this.#case.check(4, wait > 0, says)
    // When a request ends is unknown, so what it tells of those in flight is a hint.
    if (told.some(({ name, spec }) => isFlight(spec) && decision.violated.includes(name))) {
      return this.#case.check(4, wait >= HINT_MS, says)
    }
    const then = this.#oracle.fits(told, cost, now + wait * MS).possibly
    const isTooLate = this.#oracle.fits(told, cost, now + (wait - 1) * MS).surely
    this.#case.check(4, wait > 0 && then && !isTooLate, says)
  }

  #matched({ limits }: Decision, lines: readonly Line[]): (readonly [Decision['limits'][number], Line])[] {
    const matched: (readonly [Decision['limits'][number], Line])[] = []
    for (const limit of limits) {
      const line = lines.find(({ name }) => name === limit.name)
      if (line) matched.push([limit, line])
    }
    return matched
  }

  #show(lines: readonly Line[], now: number): string {
    const parts = lines.map((line) => {
      const { least, most } = this.#oracle.room(line, now)
      const has = least === most ? least : `${least}..${most}`
      return `${line.name} ${line.key.slice(0, 80)} ${capacityOf(line.spec)} has ${has}`
    })
    return parts.join('; ')
  }
}

function show({ allowed, limits, violated, retryAfterMs }: Decision): string {
  const left = limits.map(({ name, remaining }) => `${name}: ${remaining}`)
  return JSON.stringify({ allowed, left, violated, retryAfterMs })
}
