import type { Decision } from '../../src/index.js'
import type { Asked } from './judge.js'
import { groupsOf } from './lines.js'
import type { Charge } from './oracle.js'
import type { Play } from './play.js'
import { isHostile, type Ask } from './schedule.js'
import type { Case } from './tally.js'

type Books = Pick<Play, 'oracle' | 'judge' | 'nowUs' | 'grouping'>

/** What the judge must know of a request that is decided now. */
export function askedOf({ oracle, nowUs }: Books, ask: Ask): Asked {
  return { lines: oracle.linesOf(ask), cost: ask.cost, now: nowUs, isHostile: ask.who.some(isHostile) }
}

/** Enters the decisions of one moment into the ledger, in the order of their requests, and judges each. */
export class Ledger {
  readonly #play: Books
  readonly #case: Case
  /** What was left of each limit of each request, before requests that no order is known of. */
  #before: number[][] = []

  constructor(play: Books, given: Case) {
    this.#play = play
    this.#case = given
  }

  before(asks: readonly Ask[]): void {
    const { oracle, nowUs } = this.#play
    this.#before = asks.map((ask) => oracle.linesOf(ask).map((line) => oracle.room(line, nowUs).least))
  }

  enter(ask: Ask, decision: Decision, isRace: boolean): Charge | undefined {
    const { oracle, judge, nowUs, grouping } = this.#play
    const asked = askedOf(this.#play, ask)
    const { lines } = asked
    if (decision.source !== 'store') return undefined
    judge.tellsWhole(decision, lines)
    // Among requests at once on a road of several steps, a denial may come from units that are held for a moment.
    if (decision.allowed || !isRace) judge.verdict(decision, asked)
    const charge = decision.allowed ? oracle.take(ask, lines, nowUs, ask.cost) : undefined
    if (charge) judge.neverOver(lines, nowUs)
    if (!charge && groupsOf(lines, grouping).length > 1) oracle.stir(lines, nowUs)
    if (isRace) return charge
    judge.told(decision, asked)
    if (!decision.allowed) judge.retry(decision, asked)
    if (!decision.allowed) judge.narrowestFirst(decision, asked)
    return charge
  }

  /** A denial needs a limit that had no room, were all the others of its moment admitted. */
  after(asks: readonly Ask[], decisions: readonly Decision[]): void {
    const { oracle, judge } = this.#play
    const wanted = new Map<string, number>()
    for (const ask of asks) {
      for (const { key } of oracle.linesOf(ask)) wanted.set(key, (wanted.get(key) ?? 0) + ask.cost)
    }
    asks.forEach((ask, i) => {
      const decision = decisions[i]
      if (decision?.allowed !== false) return
      const lines = oracle.linesOf(ask)
      const told = judge.linesTold(decision, lines)
      const isDue = lines.some((line, at) => {
        return told.includes(line) && (this.#before[i]?.[at] ?? 0) < (wanted.get(line.key) ?? 0)
      })
      this.#case.check(2, isDue, () => `denied though all requests at once fit: ${JSON.stringify(ask)}`)
    })
  }
}
