// What may be wrong in the counts of the store, and why: law 1 excepts what was lost until it is told again.
import { Violation } from '../../support/checker.js'
import type { Message, Network } from './checker-network.js'
import type { CheckedProcess } from './checker-process.js'
import { KEYS, type CheckedStore, type Key } from './checker-store.js'

/** So long a store keeps the slots of a process that tells nothing. */
const KEPT_MS = 14_000
/** Longer than between two reports of slots that last. */
const TICK_MS = 5000

/**
 * The store has lost the slots of a process. It gives some numbers a second time then, until it has heard of them; and what was sent
 * before they were heard here tells less than there is. So all is told again when a message has arrived that was sent after three
 * times all was over that was under way.
 */
interface Loss {
  left: number
  before: Set<Message>
}

const TIMES = 3

export class Trust {
  /** Whether the store has ever lost anything: then more may run than it lets in, until they end. */
  wasLost = false
  readonly #processes: readonly CheckedProcess[]
  readonly #network: Network
  readonly #store: CheckedStore
  /** By key and holder. */
  readonly #losses = new Map<string, Loss>()
  /** When something was last amiss with a holder: it stood still, or a message was lost or late. */
  readonly #disturbedMs = new Map<string, number>()
  /** Holders that did not ask the store for a while, and holders of which something was lost. */
  readonly #down = new Set<string>()
  readonly #blurred = new Set<string>()
  #nowMs = 0

  constructor(processes: readonly CheckedProcess[], network: Network, store: CheckedStore) {
    this.#processes = processes
    this.#network = network
    this.#store = store
  }

  /** Whether the store may count less than what this process runs. */
  isLost(process: CheckedProcess, key: Key): boolean {
    return this.#lossOf(process, key) !== undefined
  }

  /** Whether the counts of a process are exact as soon as all that it sent has arrived. */
  isSound({ holder }: CheckedProcess): boolean {
    return !this.#blurred.has(holder) && !this.#down.has(holder)
  }

  /** Whether they are a little later: what it had to tell meanwhile it tells when it next looks after its slots. */
  isSoonSound({ holder }: CheckedProcess): boolean {
    return !this.#blurred.has(holder)
  }

  /** A message is late, or nobody sends it. */
  delay({ holder }: CheckedProcess): void {
    this.#disturbedMs.set(holder, this.#nowMs)
  }

  /** A process does not ask the store. */
  down(process: CheckedProcess): void {
    this.delay(process)
    this.#down.add(process.holder)
  }

  /** A message is lost, or an answer. */
  blur(process: CheckedProcess): void {
    this.delay(process)
    this.#blurred.add(process.holder)
  }

  /** Lets time pass. Slots end of which nothing is told. */
  pass(ms: number): void {
    for (const process of this.#processes) if (process.isPaused || process.isDown) this.delay(process)
    this.#nowMs += ms
    const before = this.#rows()
    this.#store.pass(ms)
    for (const process of this.#endedSince(before)) {
      const sinceMs = this.#disturbedMs.get(process.holder) ?? -Infinity
      const isHeld = KEYS.some((key) => this.#network.live(process, key) > 0)
      if (isHeld && this.#nowMs - sinceMs > KEPT_MS + TICK_MS)
        throw new Violation(
          'renewal',
          `the store has dropped slots of process ${process.number}, which lives`,
        )
      this.#lost(process)
    }
  }

  /** The store loses data. */
  lose(work: () => void): void {
    work()
    for (const process of this.#processes) this.#lost(process)
  }

  delivered(message: Message): void {
    const { by, life, requests, isTold } = message
    if (life !== by.life || !isTold) return
    for (const { key } of requests.flatMap(({ parts }) => parts)) {
      const loss = this.#lossOf(by, key as Key)
      if (loss?.left === 0 && !loss.before.has(message)) this.#losses.delete(`${key} ${by.holder}`)
    }
  }

  state(): unknown {
    return this.#processes.map((process) => {
      const all = this.#network.of(process)
      const losses = KEYS.map((key) => this.#lossOf(process, key))
      const disturbedMs = this.#disturbedMs.get(process.holder)
      return [
        losses.map((loss) => loss && [loss.left, [...loss.before].map((message) => all.indexOf(message))]),
        disturbedMs !== undefined && Math.min(this.#nowMs - disturbedMs, 2 * KEPT_MS),
        ...[this.isSound(process), this.isSoonSound(process), this.wasLost],
      ]
    })
  }

  #lost(process: CheckedProcess): void {
    this.blur(process)
    this.wasLost = true
    const before = new Set(this.#network.of(process))
    for (const key of KEYS) this.#losses.set(`${key} ${process.holder}`, { left: TIMES, before })
  }

  #lossOf(process: CheckedProcess, key: Key): Loss | undefined {
    const loss = this.#losses.get(`${key} ${process.holder}`)
    const all = this.#network.of(process)
    while (loss && loss.left > 0 && !all.some((message) => loss.before.has(message))) {
      loss.left -= 1
      loss.before = new Set(all)
    }
    return loss
  }

  #rows(): Map<string, number> {
    const all = KEYS.flatMap((key) =>
      this.#store.rows(key).map(({ id, held }) => [`${key} ${id}`, held] as const),
    )
    return new Map(all)
  }

  #endedSince(before: ReadonlyMap<string, number>): CheckedProcess[] {
    const after = this.#rows()
    const isOver = (name: string): boolean => (before.get(name) ?? 0) > 0 && !after.has(name)
    return this.#processes.filter(({ holder }) => KEYS.some((key) => isOver(`${key} ${holder}`)))
  }
}
