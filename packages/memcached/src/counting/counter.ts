import type { CompiledLimit, Params } from '@tollgate/core/store'
import type { CellValue } from './cell-value.js'
import { windowAt, type CountedWindow } from './counted-window.js'

/** The counter of the window before is read again after so long, in µs: units of it may have been given back. */
const PREVIOUS_READ_EVERY_US = 1_000_000
/** Until so long after a window has begun, other processes may still count in the one before it, in µs. */
const SETTLING_US = 500_000

/** What this process knows of the counters of one limit of one key. */
export class Counter {
  readonly #beginning: string
  readonly slides: boolean
  window: CountedWindow = { startUs: NaN, endUs: NaN }
  /** What was last seen of the current window's counter; undefined: nothing. */
  current: CellValue | undefined
  /** Of the window before; undefined: never read. `units` counts on where a lost counter had been. */
  previous: CellValue | undefined
  #previousReadUs = -Infinity

  constructor(beginning: string, { algorithm }: CompiledLimit) {
    this.#beginning = beginning
    this.slides = algorithm === 'sliding-window'
  }

  /** Goes to the window that a time is in. */
  moveTo(limit: CompiledLimit, params: Params, nowUs: number): void {
    const { startUs, endUs } = this.window
    if (nowUs >= startUs && nowUs < endUs) return
    const window = windowAt(limit, params, nowUs)
    // What was current has become the one before. It is read once more: others may have counted in it.
    this.previous = this.slides && window.startUs === endUs ? this.current : undefined
    this.#previousReadUs = -Infinity
    this.current = undefined
    this.window = window
  }

  /** The key of the current window. Not kept, since many counters are. */
  get key(): string {
    return this.#keyOf(this.window.startUs)
  }

  /** The key of the window before. */
  get previousKey(): string {
    const { startUs, endUs } = this.window
    return this.#keyOf(startUs - (endUs - startUs))
  }

  /** The keys of the windows whose units count, the earliest first. */
  get keys(): readonly string[] {
    return this.slides ? [this.previousKey, this.key] : [this.key]
  }

  /** The key of the window that a time was in; undefined if its units do not count any more. */
  keyAt(timeUs: number): string | undefined {
    const { startUs, endUs } = this.window
    if (timeUs >= startUs) return this.key
    return this.slides && timeUs >= startUs - (endUs - startUs) ? this.previousKey : undefined
  }

  /** Whether the counter of the window before must be read for a decision at this time. */
  needsPrevious(nowUs: number): boolean {
    if (!this.slides) return false
    const isSettling = nowUs - this.window.startUs < SETTLING_US
    return isSettling || nowUs - this.#previousReadUs >= PREVIOUS_READ_EVERY_US
  }

  /** Forgets what was seen. Returns whether it was anything. */
  forget(): boolean {
    const wasThere = (this.current?.units ?? 0) > 0 || (this.previous?.units ?? 0) > 0
    this.current = undefined
    this.readPrevious(undefined, -Infinity)
    return wasThere
  }

  readPrevious(value: CellValue | undefined, nowUs: number): void {
    this.previous = value
    this.#previousReadUs = nowUs
  }

  #keyOf(startUs: number): string {
    return this.#beginning + Math.floor(startUs / 1000).toString(36)
  }
}
