import { StoreError, toStoreError } from '../base/errors.js'
import { asksOf, refundsOf } from './sub-requests.js'
import { isOutcome } from './outcome-check.js'
import type { Answer, Ask, Call, Outcome, Store, StoreRequest } from './contract.js'

/**
 * A store around one that decides each key for itself: several keys of a request are asked one after another, and
 * what was taken goes back when a later one denies or fails. For that moment others can be denied by units that go
 * back; none are lost, and none are admitted too many.
 */
export class OneByOne implements Store {
  readonly joins = true
  readonly immediate = false
  readonly partitions?: number
  readonly partitionOf?: (key: string) => number
  readonly ready?: () => Promise<void> | undefined
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
    if (store.ready) this.ready = () => store.ready?.()
    if (store.partitions === undefined) return
    this.partitions = store.partitions
    this.partitionOf = (key) => store.partitionOf?.(key) ?? 0
  }

  consume(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]> {
    return Promise.all(batch.map((request) => this.#consume(asksOf(request), call)))
  }

  peek(batch: readonly StoreRequest[], call?: Call): Promise<Answer[]> {
    return Promise.all(batch.map((request) => this.#peek(asksOf(request), call)))
  }

  refund: Store['refund'] = (request) => this.#store.refund(request)

  reset: Store['reset'] = (key) => this.#store.reset(key)

  async #consume(asks: readonly Ask[], call: Call | undefined): Promise<Answer> {
    const taken: Outcome[] = []
    for (const ask of asks) {
      const answer = await this.#ask('consume', ask, call)
      if (!isOutcome(answer, countOf(ask))) {
        await this.#giveBack(asks, taken)
        return answer
      }
      if (answer.limits.some(({ wait }) => wait !== 0)) {
        await this.#giveBack(asks, taken)
        return this.#peek(asks, call)
      }
      taken.push(answer)
    }
    return join(taken)
  }

  async #peek(asks: readonly Ask[], call: Call | undefined): Promise<Answer> {
    const answers = await Promise.all(asks.map((ask) => this.#ask('peek', ask, call)))
    const isNone = (answer: Answer, i: number): boolean => !isOutcome(answer, countOf(asks[i]))
    return answers.find(isNone) ?? join(answers as Outcome[])
  }

  async #ask(how: 'consume' | 'peek', ask: Ask, call: Call | undefined): Promise<Answer> {
    try {
      const [answer] = await this.#store[how]([ask], call)
      return answer ?? new StoreError('the store gave no answer to a request')
    } catch (error) {
      return toStoreError(error)
    }
  }

  /** As far as the store does: that it fails must not reach the other requests of the batch. */
  async #giveBack(asks: readonly Ask[], taken: readonly Outcome[]): Promise<void> {
    const refunds = taken.flatMap((outcome, i) => {
      const ask = asks[i] as Ask
      return refundsOf([ask], outcome, ask.cost)
    })
    await Promise.allSettled(refunds.map(async (refund) => this.#store.refund(refund)))
  }
}

function countOf(ask: Ask | undefined): number {
  return ask?.set.limits.length ?? 0
}

function join(outcomes: readonly Outcome[]): Outcome {
  return { at: Math.max(...outcomes.map(({ at }) => at)), limits: outcomes.flatMap(({ limits }) => limits) }
}
