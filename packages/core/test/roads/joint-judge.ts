// Judges what was decided in one moment, in an order that nobody knows.
import type { Decision } from '../../src/index.js'
import { subjectOf, type JointBooks } from './joint-books.js'
import type { JointAsk } from './joint-schedule.js'
import { capacityOf } from './limits.js'
import { isFlight, type Line } from './lines.js'
import type { Case } from './tally.js'

/** Units that were taken of each of these limits. */
interface Taken {
  readonly ask: JointAsk
  readonly lines: readonly Line[]
  readonly units: number
  /** Whether it needed room: not what was on lease, nor a place that was booked before. */
  readonly needsRoom: boolean
}

interface Before {
  readonly least: number
  readonly most: number
  /** Slots that were held, as each process may have heard of it. */
  readonly slots: readonly number[]
  /** What is beside the limit, by who asks. */
  readonly beside: readonly number[]
}

/** One moment: what there was before it, and what was done in it. */
export class Moment {
  readonly #books: JointBooks
  readonly #case: Case
  readonly #before = new Map<string, Before>()
  readonly #taken: Taken[] = []
  readonly #freed = new Map<string, number>()
  readonly #leased = new Map<string, number>()
  /** Of what was taken as far as it fits: how many units were wanted, and fewer were got. */
  readonly #short: { readonly ask: JointAsk; readonly wanted: number; readonly got: number }[] = []
  readonly #denied: { readonly ask: JointAsk; readonly decision: Decision }[] = []

  constructor(books: JointBooks, given: Case) {
    this.#books = books
    this.#case = given
  }

  /** Notes what there is before the first request of some limits. */
  watch(lines: readonly Line[]): void {
    for (const line of lines) {
      if (this.#before.has(line.key)) continue
      const { least, most } = isFlight(line.spec) ? this.#books.holding(line) : this.#books.used(line)
      const beside = [0, 1].map((process) => {
        return this.#books.booked(line) + this.#books.leased(subjectOf(line), process)
      })
      const slots = [0, 1].map((process) => this.#books.holding(line, process).most)
      this.#before.set(line.key, { least, most, slots, beside })
    }
  }

  took(ask: JointAsk, units: number, needsRoom: boolean): void {
    if (units > 0) this.#taken.push({ ask, lines: this.#books.linesOf(ask), units, needsRoom })
  }

  /** Notes units of a place that may have entered these limits, beside those of the next place of its request. */
  entered(ask: JointAsk, lines: readonly Line[]): void {
    this.#taken.push({ ask, lines, units: ask.cost, needsRoom: false })
  }

  /** Notes units that may have come back to these limits. */
  freed(lines: readonly Line[], units: number): void {
    for (const { key } of lines) this.#freed.set(key, (this.#freed.get(key) ?? 0) + units)
  }

  leased(subject: string, units: number): void {
    this.#leased.set(subject, (this.#leased.get(subject) ?? 0) + units)
  }

  /** Notes units that were taken as far as they fit. */
  tookUpTo(ask: JointAsk, wanted: number, got: number): void {
    this.took(ask, got, true)
    if (got < wanted) this.#short.push({ ask, wanted, got })
  }

  denied(ask: JointAsk, decision: Decision): void {
    this.#denied.push({ ask, decision })
  }

  /** Judges all of it, before it is in the books. */
  judge(): void {
    this.#fitTogether()
    for (const { ask, decision } of this.#denied) this.#isDue(ask, decision)
    for (const { ask, wanted, got } of this.#short) {
      const lines = this.#books.linesOf(ask).filter(({ spec }) => !isFlight(spec))
      const rooms = lines.map((line) => this.leastRoom(line, ask))
      const isDue = rooms.some((room) => room < wanted)
      this.#case.check(
        11,
        isDue,
        () => `${got} of ${wanted} more were taken, and there was room for ${rooms.join()}`,
      )
    }
  }

  /** Some order must exist in which all that was let in had room: if any does, then smallest quotas first. */
  #fitTogether(): void {
    const all = this.#taken.flatMap(({ lines, units, needsRoom }) =>
      needsRoom ? lines.filter(({ spec }) => !isFlight(spec)).map((line) => ({ line, units })) : [],
    )
    const sums = new Map<string, number>()
    for (const { line, units } of all.toSorted((a, b) => capacityOf(a.line.spec) - capacityOf(b.line.spec))) {
      const sum = (sums.get(line.key) ?? 0) + units
      sums.set(line.key, sum)
      const capacity = capacityOf(line.spec)
      const before = (this.#before.get(line.key)?.least ?? 0) - (this.#freed.get(line.key) ?? 0)
      // Of a bucket a unit may have come back in part.
      const room = Math.floor(capacity - before + 1e-6)
      this.#case.check(
        3,
        sum <= room,
        () => `${sum} of ${line.key} let in at once, ${room} of ${capacity} were left`,
      )
    }
  }

  /** A denial is right only if one of the limits that it names would be full in some order. */
  #isDue(ask: JointAsk, decision: Decision): void {
    const lines = this.#books.linesOf(ask).filter(({ name }) => decision.violated.includes(name))
    const rooms = lines.map((line) => ({ line, room: this.leastRoom(line, ask) }))
    const isDue = rooms.some(({ line, room }) => room < (isFlight(line.spec) ? 1 : ask.cost))
    const says = (): string => {
      const told = rooms.map(
        ({ line, room }) => `${line.key} of ${capacityOf(line.spec)} had at least ${room}`,
      )
      return `process ${ask.process} denied ${ask.cost} by ${decision.source}, and ${told.join('; ')}`
    }
    this.#case.check(3, isDue, says)
    this.#case.check(
      3,
      lines.length === decision.violated.length,
      () => `violated what was not asked: ${says()}`,
    )
  }

  /** What is left of a limit for a request at least, if all others of this moment came before it, and what came back after. */
  leastRoom(line: Line, ask: JointAsk): number {
    const before = this.#before.get(line.key) ?? { most: 0, slots: [0, 0], beside: [0, 0] }
    let others = 0
    for (const taken of this.#taken) {
      if (taken.ask === ask || !taken.lines.some(({ key }) => key === line.key)) continue
      others += isFlight(line.spec) ? 1 : taken.units
    }
    if (isFlight(line.spec)) return capacityOf(line.spec) - (before.slots[ask.process] ?? 0) - others
    const beside = (before.beside[ask.process] ?? 0) + (this.#leased.get(subjectOf(line)) ?? 0)
    return Math.floor(capacityOf(line.spec) - before.most - beside - others + 1e-6)
  }
}
