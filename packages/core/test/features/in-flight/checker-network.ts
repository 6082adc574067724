// What is under way between processes and the store, and the slots that the store gave.
import type { Outcome, SlotHolder, StoreRequest } from '../../../src/stores/contract.js'
import { isTaken } from '../../../src/requests/request.js'
import type { Ask, CheckedProcess } from './checker-process.js'
import type { Flaw } from './checker-options.js'
import { largerThan, type CheckedStore, type Key } from './checker-store.js'

/** Something that a process sends to the store. */
export interface Message {
  readonly by: CheckedProcess
  readonly life: number
  /** From when it is sent on, with the numbers of then. */
  requests: readonly StoreRequest[]
  /** Whose request it is; undefined if it only tells. */
  readonly ask: Ask | undefined
  /** Whether its process waits for the answer. */
  isAwaited: boolean
  /** Whether the store has taken what it tells. */
  isTold: boolean
  /** Gets the outcomes, or nothing if there are none in time. */
  readonly onAnswer: (outcomes: readonly Outcome[] | undefined) => void
  /** Gets them when they are late. */
  readonly onLate: (outcomes: readonly Outcome[]) => void
}

/** A slot that the store gave. */
interface Grant {
  readonly message: Message
  readonly ask: Ask
  readonly key: Key
  isHeard: boolean
  /** Nobody will ever hear of it. */
  isLost: boolean
}

export interface Answer {
  readonly message: Message
  readonly outcomes: readonly Outcome[]
  readonly grants: readonly Grant[]
}

export class Network {
  queued: Message[] = []
  underWay: Message[] = []
  answers: Answer[] = []
  /** What reached the store last. */
  delivered: Message | undefined
  readonly #store: CheckedStore
  readonly #flaw: Flaw | undefined
  #awaited: Message[] = []
  #grants: Grant[] = []
  /** The highest number of a slot that a holder has heard of, by key and holder. */
  readonly #highest = new Map<string, number>()

  constructor(store: CheckedStore, flaw: Flaw | undefined) {
    this.#store = store
    this.#flaw = flaw
  }

  /** The messages that a process waits for the answers to. */
  get awaited(): readonly Message[] {
    this.#awaited = this.#awaited.filter(({ isAwaited, by, life }) => isAwaited && life === by.life)
    return this.#awaited
  }

  queue(message: Message): void {
    this.queued.push(message)
    this.#awaited.push(message)
  }

  /** From here on its numbers stay as they are now. */
  send(message: Message): void {
    this.queued = this.queued.filter((one) => one !== message)
    message.requests = message.requests.map((request) => this.#copied(request))
    this.underWay.push(message)
  }

  deliver(i: number): Message | undefined {
    const [message] = this.underWay.splice(i, 1)
    this.delivered = message
    if (message) this.#take(message)
    return message
  }

  hear(i: number): void {
    const [answer] = this.answers.splice(i, 1)
    if (!answer) return
    const { message, outcomes, grants } = answer
    this.#note(answer)
    if (!message.isAwaited)
      return this.#flaw === 'hears nothing that is late' ? undefined : message.onLate(outcomes)
    for (const grant of grants) grant.isHeard = true
    message.isAwaited = false
    message.onAnswer(outcomes)
  }

  /** A client sends again what it has no answer to. Of two answers only the second is heard. */
  again(): Message | undefined {
    const message = this.delivered
    this.delivered = undefined
    const first = this.answers.find((one) => one.message === message)
    if (!message || !first) return undefined
    for (const grant of first.grants) grant.isLost = true
    this.answers = this.answers.filter((one) => one !== first)
    this.#take(message)
    return message
  }

  /** Forgets what a process has not sent and not heard. */
  forget(process: CheckedProcess): void {
    this.queued = this.queued.filter(({ by }) => by !== process)
    this.answers = this.answers.filter(({ message }) => message.by !== process)
  }

  /** All messages of a process of which something may still come. */
  of(process: CheckedProcess): Message[] {
    const answered = this.answers.map(({ message }) => message)
    const all = new Set([...this.queued, ...this.underWay, ...answered, ...this.awaited])
    return [...all].filter(({ by, life }) => by === process && life === process.life)
  }

  /** How many requests of a process the store has let in that run, or will when they hear of it. */
  live(process: CheckedProcess, key: Key): number {
    this.#grants = this.#grants.filter(
      ({ message, ask, isLost }) => !isLost && ask.state !== 'over' && message.life === message.by.life,
    )
    return this.#grants.filter(
      (grant) =>
        grant.key === key && grant.message.by === process && (grant.isHeard || grant.message.isAwaited),
    ).length
  }

  #take(message: Message): void {
    const { requests, ask, by, life, isAwaited } = message
    const outcomes = requests.map((request) => this.#store.consume(request, this.#isLost(request)))
    message.isTold = !ask || !this.#store.forgetsDenied || isTaken(outcomes[0] as Outcome)
    const grants = requests.flatMap(({ grant, parts }, i) => {
      if (grant !== 'all' || !ask || !isTaken(outcomes[i] as Outcome)) return []
      return parts.map(({ key }): Grant => {
        return { message, ask, key: key as Key, isHeard: false, isLost: !isAwaited }
      })
    })
    this.#grants.push(...grants)
    if (life === by.life) this.answers.push({ message, outcomes, grants })
  }

  #isLost({ grant }: StoreRequest): boolean {
    if (grant === 'release') return this.#flaw === 'loses its releases'
    return grant === 'declare' && this.#flaw === 'renews nothing'
  }

  /** A request as it is sent: its numbers change no more. */
  #copied(request: StoreRequest): StoreRequest {
    const parts = request.parts.map((part) => {
      const { id, held, known } = part.slots as SlotHolder
      const highest = Math.max(this.#highest.get(`${part.key} ${id}`) ?? 0, known)
      const isLess = this.#flaw === 'tells of one less than it holds'
      const isHighest = this.#flaw === 'tells the highest number in place of how many'
      const told = { id, held: isLess ? Math.max(held - 1, 0) : held, known: isHighest ? highest : known }
      const isMore = this.#flaw === 'lets one more in' && request.grant === 'all'
      return { ...part, slots: told, ...(isMore && { set: largerThan(part.set) }) }
    })
    return { ...request, parts } as StoreRequest
  }

  #note({ message, outcomes }: Answer): void {
    for (const [i, { parts }] of message.requests.entries()) {
      for (const [j, { key, slots }] of parts.entries()) {
        const name = `${key} ${slots?.id}`
        const number = outcomes[i]?.limits[j]?.slot ?? 0
        this.#highest.set(name, Math.max(this.#highest.get(name) ?? 0, number))
      }
    }
  }
}
