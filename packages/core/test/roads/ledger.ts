import type { Decision } from '../../src/index.js'
import type { Asked } from './judge.js'
import type { Bounds } from './counter.js'
import { capacityOf } from './limits.js'
import { groupsOf, needOf } from './lines.js'
import type { Charge, Reserved } from './oracle.js'
import type { Play } from './play.js'
import { isHostile, type Ask } from './schedule.js'
import type { Case } from './tally.js'

type Books = Pick<Play, 'oracle' | 'judge' | 'nowUs' | 'grouping'>

/** A request in the form that the judge needs, at the present time. */
export function askedOf({ oracle, nowUs }: Books, ask: Ask): Asked {
  return { lines: oracle.linesOf(ask), cost: ask.cost, now: nowUs, isHostile: ask.who.some(isHostile) }
}

/** Enters the decisions of one moment into the ledger, in the order of their requests, and judges each. */
export class Ledger {
  readonly #play: Books
  readonly #case: Case
  /** Units left in each limit of each request, before requests whose order is unknown. */
  #before: Bounds[][] = []
  /** The same, after the refunds that ran at the same time. */
  #given: Bounds[][] = []

  constructor(play: Books, given: Case) {
    this.#play = play
    this.#case = given
  }

  /** Notes the units left before and after `give`, which enters the refunds that ran together with the requests. */
  before(asks: readonly Ask[], give: () => void = () => {}): void {
    const rooms = (): Bounds[][] => {
      const { oracle, nowUs } = this.#play
      return asks.map((ask) => oracle.linesOf(ask).map((line) => oracle.room(line, nowUs)))
    }
    this.#before = rooms()
    give()
    this.#given = rooms()
  }

  enter(ask: Ask, decision: Decision, isRace: boolean): Charge | undefined {
    const { oracle, judge, nowUs, grouping } = this.#play
    const asked = askedOf(this.#play, ask)
    const { lines } = asked
    if (decision.source === 'cache') {
      if (!isRace) judge.fromMemory(decision, asked)
      return undefined
    }
    if (decision.source === 'lease') {
      const leased = oracle.take(ask, { at: nowUs, units: ask.cost, isLeased: true })
      judge.neverOver(lines, nowUs)
      return leased
    }
    if (decision.source !== 'store') return undefined
    judge.tellsWhole(decision, lines)
    if (!isRace) judge.verdict(decision, asked)
    const charge = decision.allowed ? oracle.take(ask, { at: nowUs, units: ask.cost, isRace }) : undefined
    if (charge) judge.neverOver(lines, nowUs)
    if (!charge && groupsOf(lines, grouping).length > 1) oracle.stir(lines, nowUs)
    if (isRace) return charge
    judge.told(decision, asked)
    if (!decision.allowed) judge.retry(decision, asked)
    if (!decision.allowed) judge.stepsInOrder(decision, asked)
    return charge
  }

  /** Judges the decision about a reservation while nothing else is under way, and enters what it holds. */
  reserve(ask: Ask, decision: Decision, lengthUs: number): Reserved | undefined {
    const { oracle, judge, nowUs } = this.#play
    const asked = askedOf(this.#play, ask)
    judge.tellsWhole(decision, asked.lines)
    judge.verdict(decision, asked)
    const reserved = decision.allowed ? oracle.reserve(ask, nowUs, lengthUs) : undefined
    judge.told(decision, asked)
    if (!reserved) judge.retry(decision, asked)
    return reserved
  }

  /** Checks decisions of one moment whose order is unknown, because they were made in several steps. */
  after(asks: readonly Ask[], decisions: readonly Decision[]): void {
    this.#fitTogether(asks, decisions)
    this.#denialsAreDue(asks, decisions)
    for (const [i, ask] of asks.entries()) {
      const decision = decisions[i] as Decision
      if (decision.source !== 'store') continue
      this.#play.judge.atMost(decision, askedOf(this.#play, ask), this.#given[i] ?? [])
    }
  }

  /** Some order must exist in which all allowed requests had room: if any does, then smallest quotas first. */
  #fitTogether(asks: readonly Ask[], decisions: readonly Decision[]): void {
    const { oracle } = this.#play
    const allowed = asks.flatMap((ask, i) => {
      // What a lease served was taken before, under a plan that may have been larger.
      if (!decisions[i]?.allowed || decisions[i].source === 'lease') return []
      return oracle
        .linesOf(ask)
        .map((line, at) => ({ line, cost: needOf(line, ask.cost), room: this.#given[i]?.[at]?.most ?? 0 }))
    })
    const taken = new Map<string, number>()
    for (const { line, cost, room } of allowed.toSorted(
      (a, b) => capacityOf(a.line.spec) - capacityOf(b.line.spec),
    )) {
      const units = (taken.get(line.key) ?? 0) + cost
      taken.set(line.key, units)
      this.#case.check(3, units <= room, () => `${units} of ${line.key} allowed at once, ${room} were left`)
    }
  }

  /** A denial is right only if one of its limits would be full when all requests of this moment were admitted. */
  #denialsAreDue(asks: readonly Ask[], decisions: readonly Decision[]): void {
    const { oracle, judge } = this.#play
    const wanted = new Map<string, number>()
    for (const ask of asks) {
      for (const line of oracle.linesOf(ask)) {
        wanted.set(line.key, (wanted.get(line.key) ?? 0) + needOf(line, ask.cost))
      }
    }
    asks.forEach((ask, i) => {
      const decision = decisions[i]
      if (decision?.allowed !== false || decision.source === 'cache') return
      const lines = oracle.linesOf(ask)
      const told = judge.linesTold(decision, lines)
      const isDue = lines.some((line, at) => {
        return told.includes(line) && (this.#before[i]?.[at]?.least ?? 0) < (wanted.get(line.key) ?? 0)
      })
      this.#case.check(2, isDue, () => `denied though all requests at once fit: ${JSON.stringify(ask)}`)
    })
  }
}
