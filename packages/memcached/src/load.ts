import type { CompiledLimit } from '@tollgate/core/store'
import { decodeCell, encodeCell, MOST_UNITS, newDraw, RESET, type CellValue } from './counting/cell-value.js'
import type { Command, Reply } from './clients/port.js'
import { countsAfterUs, type Counted } from './counting/counted-window.js'
import type { Counter } from './counting/counter.js'
import { foreignValue } from './errors.js'
import { timeToLive } from './layout.js'

/** A counter to write, and for how long. */
export interface Place {
  readonly key: string
  readonly ttl: number
}

/** When something is decided, and what is the same for all of it. */
export interface Moment {
  readonly nowUs: number
  /** How much longer counters are kept than needed, in s: for a test's clock. */
  readonly spareS: number
  /** The server's time, also where a test sets the one that decides. */
  readonly wallMs: number
  /** Called for a counter that this process knows and that is lost. */
  onLost(): void
}

/**
 * One counter in one batch: what is asked of it, and what it said. Units are taken first and decided on by the value that
 * came back. Values are in one order for all processes, so races never let in too many; what did not fit goes back.
 */
export class Load implements Counted {
  readonly counter: Counter
  readonly startUs: number
  readonly endUs: number
  readonly nowUs: number
  readonly key: string
  /** Units to take with the next command. */
  asked = 0
  /** Taken, and to be given back. */
  excess = 0
  /** Units of the window, without those of this batch that are not decided yet. */
  units = 0
  previous = 0
  error: Error | undefined
  readonly #limit: CompiledLimit
  readonly #moment: Moment
  #draw = 0
  /** Set if the window before is read. */
  #previousKey: string | undefined
  #lost: CellValue | undefined
  #isBelowZero = false
  /** What sets lost counters right. */
  #restoring: Command[] = []

  constructor(counter: Counter, limit: CompiledLimit, moment: Moment) {
    this.counter = counter
    this.#limit = limit
    this.#moment = moment
    this.nowUs = moment.nowUs
    const { startUs, endUs } = counter.window
    this.startUs = startUs
    this.endUs = endUs
    this.key = counter.key
    this.previous = Math.max(counter.previous?.units ?? 0, 0)
  }

  /** The counter as this process knows it, with what this batch asks of it so far. At most what is true, unless units went back. */
  get known(): Counted {
    const { startUs, endUs, nowUs, previous } = this
    const units = Math.max(this.counter.current?.units ?? 0, 0) + this.asked
    return { startUs, endUs, nowUs, previous, units }
  }

  /** The commands that take what is asked, or only read, and with it the window before if that is due. */
  commands(): Command[] {
    const { counter, asked, key, nowUs } = this
    const commands: Command[] = [asked > 0 ? this.#taking() : { kind: 'read', key }]
    this.#previousKey = counter.needsPrevious(nowUs) ? counter.previousKey : undefined
    if (this.#previousKey !== undefined) commands.push({ kind: 'read', key: this.#previousKey })
    return commands
  }

  /** Reads the replies to `commands`, from the index `from`. Returns how many there were. */
  learn(replies: readonly Reply[], from: number): number {
    this.#learnCurrent(replies[from])
    if (this.#previousKey === undefined) return 1
    this.#learnPrevious(this.#previousKey, replies[from + 1])
    return 2
  }

  /** The commands that set right what is not as it should be: excess goes back, lost counters get what was in them. */
  corrections(): Command[] {
    const commands = this.#restoring
    if (this.excess > 0) commands.push({ kind: 'give', key: this.key, units: this.excess })
    this.excess = 0
    this.#restoring = []
    return commands
  }

  /** Reads the reply to a correction. */
  learnCorrection({ key }: Command, reply: Reply): void {
    const value = typeof reply === 'number' ? decodeCell(reply) : undefined
    if (!value || key !== this.key) return
    this.units = Math.max(value.units, 0)
    if (this.#isCurrent) this.counter.current = value
  }

  /** Corrections may not have arrived. What was to be put back is put back with the next request. */
  correctionsFailed(): void {
    if (this.#lost && this.#isCurrent) this.counter.current = { draw: 0, units: this.#lost.units }
  }

  /** Set if the counter is less than nothing: what went back after a loss had been counted in the lost one. */
  get isBelowZero(): boolean {
    return this.#isBelowZero
  }

  /** Where to write the counter. */
  get place(): Place {
    return { key: this.key, ttl: this.#ttlFrom(this.endUs - this.nowUs) }
  }

  get #isCurrent(): boolean {
    return this.counter.window.startUs === this.startUs
  }

  #taking(): Command {
    const { asked: units } = this
    const known = this.counter.current
    this.#draw = newDraw(known?.draw)
    const initial = encodeCell({ draw: this.#draw, units: Math.max(known?.units ?? 0, 0) + units })
    return { kind: 'take', ...this.place, units, initial }
  }

  #ttlFrom(us: number): number {
    return timeToLive(us + countsAfterUs(this.#limit, this), this.#moment.wallMs, this.#moment.spareS)
  }

  #learnCurrent(reply: Reply): void {
    const value = valueOf(reply)
    if (value instanceof Error) return void (this.error = value)
    const known = this.#isCurrent ? this.counter.current : undefined
    const before = Math.max((value?.units ?? 0) - this.asked, 0)
    const isLost = isLostIn(known, value)
    this.units = isLost ? Math.max(before, known.units) : before
    this.#isBelowZero = value !== undefined && value.units < 0
    if (this.#isCurrent) this.counter.current = value
    if (!isLost) return
    this.#lost = known
    this.#moment.onLost()
    this.#restore(this.place, known, value && { ...value, units: before })
  }

  #learnPrevious(key: string, reply: Reply): void {
    const value = valueOf(reply)
    if (value instanceof Error) return void (this.error = value)
    const known = this.#isCurrent ? this.counter.previous : undefined
    const isLost = isLostIn(known, value)
    this.previous = Math.max(value?.units ?? 0, isLost ? known.units : 0, 0)
    const now = { draw: value?.draw ?? 0, units: this.previous }
    if (!isLost) return this.#isCurrent ? this.counter.readPrevious(now, this.nowUs) : undefined
    this.#moment.onLost()
    const draw = this.#restore({ key, ttl: this.#ttlFrom(0) }, known, value)
    this.counter.readPrevious({ ...now, draw }, this.nowUs)
  }

  /** Puts back what a lost counter had. Returns the draw of the counter from then on. */
  #restore(place: Place, known: CellValue, found: CellValue | undefined): number {
    if (found) {
      this.#addTo(place, Math.max(known.units - found.units, 0))
      return found.draw
    }
    const made = { draw: newDraw(known.draw), units: known.units }
    this.#restoring.push({ kind: 'add', ...place, text: String(encodeCell(made)) })
    if (place.key === this.key) this.counter.current = made
    return made.draw
  }

  #addTo(place: Place, units: number): void {
    if (units <= 0) return
    const initial = encodeCell({ draw: newDraw(undefined), units })
    this.#restoring.push({ kind: 'take', ...place, units, initial })
  }
}

/** Whether a counter that is known was lost, and perhaps made anew. One that a reset made has nothing to be put back. */
function isLostIn(known: CellValue | undefined, value: CellValue | undefined): known is CellValue {
  return known !== undefined && known.units > 0 && known.draw !== value?.draw && value?.draw !== RESET
}

/** What a counter holds; undefined if there is none. */
export function valueOf(reply: Reply): CellValue | Error | undefined {
  if (reply === undefined || reply instanceof Error) return reply
  const value = decodeCell(Number(typeof reply === 'object' ? reply.text : reply))
  return value && value.units <= MOST_UNITS ? value : foreignValue()
}
