// What is under way between processes and the store.
import type { LeaseOrder, Outcome } from '../../../src/stores/contract.js'
import type { WorldOptions } from './checker-options.js'
import type { CheckedProcess, Message } from './checker-process.js'
import type { CheckedStore } from './checker-store.js'
import { Violation } from '../../support/checker.js'

interface Answer {
  readonly message: Message
  readonly outcome: Outcome
}

export class Network {
  underWay: Message[] = []
  /** The last message that reached the store, which may do so again. */
  delivered: Message | undefined
  /** Leases that were asked for at the store. */
  readonly wished = new Set<string>()
  #answers: Answer[] = []
  readonly #store: CheckedStore
  readonly #flaw: WorldOptions['flaw']

  constructor(store: CheckedStore, flaw: WorldOptions['flaw']) {
    this.#store = store
    this.#flaw = flaw
  }

  post(message: Message | undefined): boolean {
    if (!message) return false
    this.underWay.push(this.#flaw === 'reports too little' ? withLess(message) : message)
    return true
  }

  deliver(i: number): boolean {
    const [message] = this.underWay.splice(i, 1)
    if (!message) return false
    const { request, by } = message
    const outcome = this.#store.consume(request)
    this.delivered = message
    const { wish } = request.order ?? {}
    if (wish) this.wished.add(wish.id)
    if (wish && this.#flaw === 'leases are not counted') this.#store.order(givenUp(wish.id))
    this.#answers = [...this.#answers.filter((one) => one.message.by !== by), { message, outcome }]
    return true
  }

  hear(process: CheckedProcess, nowMs: number): boolean {
    const answer = this.answerTo(process)
    if (!answer) return false
    this.#answers = this.#answers.filter((one) => one !== answer)
    process.hear(answer.outcome, nowMs)
    return true
  }

  /** The answer that a process waits for. Those that come too late are never heard. */
  answerTo({ awaited }: CheckedProcess): Answer | undefined {
    return this.#answers.find(({ message }) => awaited !== undefined && message.number === awaited.number)
  }

  /** A message reaches the store a second time. Right after the first, that changes nothing. */
  again(): boolean {
    const { request } = this.delivered ?? {}
    if (!request) return false
    this.#store.consume(request)
    const once = this.#store.text()
    this.#store.consume(this.#flaw === 'repeats with another id' ? renamed(request) : request)
    if (this.#store.text() !== once)
      throw new Violation('law 11', 'a message that arrived again changed something')
    return true
  }

  /** The flaw that units are forgotten when their lease ends. */
  forgetAll(): void {
    for (const id of this.wished) this.#store.order(givenUp(id))
  }

  text(nowMs: number, canRepeat: boolean): unknown {
    const told = ({ by, request, sentAtMs }: Message): unknown => [by, request.order, nowMs - sentAtMs]
    const answers = this.#answers.map(({ message, outcome: { at, limits, lease } }) => {
      return [told(message), at - this.#store.now, limits, lease]
    })
    return [this.underWay.map(told), answers, canRepeat && this.delivered?.request.order]
  }
}

/** Nothing was used of a lease, and nothing is left. */
function givenUp(id: string): LeaseOrder {
  return { reports: [{ id, used: 0, left: 0 }] }
}

function withLess(message: Message): Message {
  const { request } = message
  if (request.grant !== 'lease') return message
  const reports = request.order.reports.map((report) => ({ ...report, used: Math.max(report.used - 1, 0) }))
  return { ...message, request: { ...request, order: { ...request.order, reports } } }
}

function renamed(request: Message['request']): Message['request'] {
  if (request.grant !== 'lease' || !request.order.wish) return request
  const { wish } = request.order
  return { ...request, order: { ...request.order, wish: { ...wish, id: `${wish.id.slice(0, -1)}z` } } }
}
