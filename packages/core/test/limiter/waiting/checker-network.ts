// What is under way between processes and the store. Every message arrives and is answered by itself: in any order, twice, late
// or never.
import type { Outcome, RefundRequest, StoreRequest } from '../../../src/stores/contract.js'
import type { Flaw } from './checker-options.js'
import type { CheckedStore } from './checker-store.js'
import { Violation } from '../../support/checker.js'

/** What the store said. */
export interface Told {
  /** When it truly decided, in ms. */
  readonly decidedAtMs: number
  readonly outcome?: Outcome
  /** The same without what a broken rule makes of it. */
  readonly truth?: Outcome
  readonly isGiven?: boolean
}

export interface Message {
  /** The process that waits for the answer, in one of its lives. */
  readonly by: string
  readonly request?: StoreRequest
  readonly refund?: RefundRequest & { readonly id: string }
  readonly sentAtMs: number
  /** Called with the answer, once; with none when its deadline has passed. */
  readonly onAnswer: (told: Told | undefined) => void
  /** Called with an answer that comes after that. */
  readonly onLate: (told: Told) => void
  isOver: boolean
}

interface Answer {
  readonly message: Message
  readonly told: Told
}

export class Network {
  readonly underWay: Message[] = []
  readonly answers: Answer[] = []
  readonly #store: CheckedStore
  readonly #flaw: Flaw | undefined
  readonly #isAlive: (process: string) => boolean
  #last: Message | undefined
  #booked: StoreRequest | undefined

  constructor(store: CheckedStore, flaw: Flaw | undefined, isAlive: (process: string) => boolean) {
    this.#store = store
    this.#flaw = flaw
    this.#isAlive = isAlive
  }

  /** Whether a message has been delivered, which may arrive again. */
  get canRepeat(): boolean {
    return this.#last !== undefined
  }

  post(message: Message): void {
    const isLeaving = message.request?.grant === 'lease'
    if (this.#flaw === 'loses what those who leave report' && isLeaving) return
    this.underWay.push(message)
  }

  deliver(i: number, nowMs: number): boolean {
    const [message] = this.underWay.splice(i, 1)
    if (!message) return false
    const told = this.#decide(message, nowMs)
    if (this.#isAlive(message.by)) this.answers.push({ message, told })
    this.#last = message
    return true
  }

  /** The answer to a message is heard, whatever came before it. */
  hear(i: number, nowMs: number): boolean {
    const [answer] = this.answers.splice(i, 1)
    if (!answer) return false
    const { message } = answer
    const told = this.#flaw === 'tells when it was heard' ? toldAt(nowMs, answer.told) : answer.told
    if (message.isOver) message.onLate(told)
    else {
      message.isOver = true
      message.onAnswer(told)
    }
    return true
  }

  /** A message reaches the store a second time. Once it has an effect of its own, a further time has none. */
  again(text: () => string): boolean {
    const last = this.#last
    const { request, refund } = last ?? {}
    if (!last || (!request?.hold && request?.grant !== 'lease' && !refund)) return false
    const { outcome } = this.#send(last)
    // What was taken at once has left no id.
    if (request?.hold && !outcome?.hold?.endsInUs) return true
    const once = text()
    this.#send(this.#flaw === 'repeats with another id' ? renamed(last) : last)
    if (text() !== once) throw new Violation('law 11', 'a message that arrived again changed something')
    return true
  }

  /** Answers that nobody waits for any more. */
  forget(by: string): void {
    const kept = this.answers.filter(({ message }) => message.by !== by)
    this.answers.splice(0, Infinity, ...kept)
  }

  text(nowMs: number): unknown {
    const told = ({ by, request, refund, sentAtMs, isOver }: Message): unknown => [
      ...[by, request?.grant, request?.hold, request?.order, refund?.parts[0]?.receipts],
      ...[nowMs - sentAtMs, isOver],
    ]
    const answers = this.answers.map(({ message, told: { outcome, isGiven, decidedAtMs } }) => {
      return [told(message), outcome?.limits, outcome?.hold, outcome?.lease, isGiven, nowMs - decidedAtMs]
    })
    return [this.underWay.map(told), answers]
  }

  #decide(message: Message, decidedAtMs: number): Told {
    const told = this.#send(message)
    const { outcome: truth } = told
    if (!truth) return { ...told, decidedAtMs }
    return { decidedAtMs, truth, outcome: this.#flawed(message, truth) }
  }

  #send({ request, refund }: Message): { outcome?: Outcome; isGiven?: boolean } {
    if (refund) {
      const isGiven = this.#store.refund(refund, refund.id)
      if (this.#flaw === 'gives back twice') this.#store.refund(refund)
      return { isGiven }
    }
    return request ? { outcome: this.#store.consume(request) } : {}
  }

  /** The answer, or what a broken rule makes of it. */
  #flawed({ request }: Message, outcome: Outcome): Outcome {
    const { hold } = outcome
    if (!request?.hold || !hold || hold.endsInUs === 0) return outcome
    const giveUp = (of: StoreRequest): void => {
      const order = { reports: [{ id: of.hold?.id ?? '', used: 0, left: 0 }] }
      this.#store.consume({ shard: of.shard, parts: of.parts, grant: 'lease', order })
    }
    if (this.#flaw === 'places are not held') giveUp(request)
    if (this.#flaw === 'a booking moves a place') {
      const before = this.#booked
      this.#booked = request
      if (!before) return outcome
      giveUp(before)
      giveUp(request)
      const moved = this.#store.consume(request)
      this.#store.consume(before)
      return moved
    }
    const { delayUs, endsInUs } = hold
    if (this.#flaw === 'tells a shorter delay')
      return { ...outcome, hold: { delayUs: delayUs / 2, endsInUs } }
    if (this.#flaw === 'tells a later end')
      return { ...outcome, hold: { delayUs, endsInUs: endsInUs + 300_000 } }
    return outcome
  }
}

function renamed(message: Message): Message {
  const { request } = message
  const hold = request?.hold && { ...request.hold, id: `${request.hold.id.slice(0, -1)}z` }
  return { ...message, request: request && { ...request, hold } } as Message
}

function toldAt(nowMs: number, told: Told): Told {
  const { outcome, decidedAtMs } = told
  return {
    ...told,
    ...(outcome && { outcome: { ...outcome, at: outcome.at + (nowMs - decidedAtMs) * 1000 } }),
  }
}
