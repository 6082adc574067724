import { StoreError } from '../../base/errors.js'
import { randomText } from '../../base/platform.js'
import { clearTimeout, elapsedMs, setTimeout } from '../../base/timers.js'
import type { ChangeResult, RuleChange, RuleEntry, RulesCall, RulesReply } from '../../stores/rule-list.js'
import type { End } from './rule-options.js'

/** How long a caller waits for the store, in ms. */
export const SILENT_MS = 2000

/** A change that the list has not confirmed yet. It holds here already. */
interface Pending {
  readonly change: Omit<RuleChange, 'end'>
  readonly end: End
  readonly sinceMs: number
  entry: RuleEntry
  readonly waiter: Waiter<ChangeResult>
}

/** Changes of this process, in the order in which they were made. */
export class PendingChanges {
  #all: Pending[] = []
  /** The latest of each key. */
  readonly #latest = new Map<string, Pending>()

  get size(): number {
    return this.#all.length
  }

  has(key: string): boolean {
    return this.#latest.has(key)
  }

  /** What holds here under this key by the latest change. */
  get(key: string): RuleEntry | undefined {
    return this.#latest.get(key)?.entry
  }

  entries(): readonly RuleEntry[] {
    return this.#all.map(({ entry }) => entry)
  }

  /** @param known what the list had under this key */
  add(entry: RuleEntry, end: End, known: RuleEntry | undefined): Promise<ChangeResult> {
    const { key, text } = entry
    const waiter = new Waiter<ChangeResult>(
      text === ''
        ? 'the rule is lifted in this process, and in the others once the store answers'
        : 'the rule holds in this process, and is sent to the others once the store answers',
    )
    const seen = { knownAt: known?.changedAt ?? 0, keptUntil: known?.keptUntil ?? 0 }
    const change = { id: newId(), key, text, ...seen }
    const pending = { change, end, sinceMs: elapsedMs(), entry, waiter }
    this.#all.push(pending)
    this.#latest.set(key, pending)
    return waiter.promise
  }

  /** The first changes, as they are sent. */
  first(most: number): RuleChange[] {
    return this.#all.slice(0, most).map(({ change, end, sinceMs }) => {
      if ('at' in end) return { ...change, end }
      // What has passed since the call is no part of the time left, however often it was sent.
      const passedUs = Math.round((elapsedMs() - sinceMs) * 1000)
      return { ...change, end: { inUs: Math.max(end.inUs - passedUs, 0) } }
    })
  }

  /** Moves the ends of rules that were counted from another clock's now. */
  shift(us: number): readonly RuleEntry[] {
    const moved = this.#all.filter(({ end }) => 'inUs' in end)
    for (const one of moved) one.entry = { ...one.entry, until: one.entry.until + us }
    return moved.map(({ entry }) => entry)
  }

  /**
   * Takes those out that the list has answered.
   *
   * @returns each with its result
   */
  settle({ changes }: RulesCall, { results }: RulesReply): [Pending, ChangeResult][] {
    const answered = new Map(changes.map(({ id }, i) => [id, results[i] as ChangeResult]))
    const settled = this.#all.filter(({ change }) => answered.has(change.id))
    this.#all = this.#all.filter(({ change }) => !answered.has(change.id))
    for (const one of settled) if (this.#latest.get(one.entry.key) === one) this.#latest.delete(one.entry.key)
    return settled.map((pending) => [pending, answered.get(pending.change.id) as ChangeResult])
  }

  /** Gives all up. Returns their keys. */
  reject(error: StoreError): Set<string> {
    const all = this.#all
    this.#all = []
    this.#latest.clear()
    for (const { waiter } of all) waiter.reject(error)
    return new Set(all.map(({ entry }) => entry.key))
  }
}

/** Somebody who waits for the store, but not for longer than SILENT_MS. */
export class Waiter<T> {
  readonly promise: Promise<T>
  readonly #timer: NodeJS.Timeout
  #resolve!: (value: T) => void
  #reject!: (error: StoreError) => void

  /** @param otherwise what happens if the store stays silent, for the error */
  constructor(otherwise: string) {
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.#timer = setTimeout(
      () =>
        this.#reject(
          new StoreError(`the store did not answer: ${otherwise}`, { code: 'ERR_TOLLGATE_STORE_TIMEOUT' }),
        ),
      SILENT_MS,
    )
    this.#timer.unref()
  }

  resolve(value: T): void {
    clearTimeout(this.#timer)
    this.#resolve(value)
  }

  reject(error: StoreError): void {
    clearTimeout(this.#timer)
    this.#reject(error)
  }
}

export function newId(): string {
  return randomText(9)
}
