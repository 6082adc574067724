import assert from 'node:assert/strict'
import { implementations, type AlgorithmName } from '../../algorithms/registry.js'
import type { Usage } from '../../algorithms/implementation.js'
import { isPromise } from '../../base/maybe-promise.js'
import { limitSetOf, type LimitInput } from '../../plans/limit-set-of.js'
import type { LimitSet } from '../../plans/limit-set.js'
import type { Outcome, RefundRequest, Store, StoreRequest, SubRequest } from '../contract.js'
import { isOutcome, isRefundAnswer } from '../outcome-check.js'

/** One thing that a store must do. */
export interface Check {
  readonly name: string
  /** Only for stores that decide several keys in one step. */
  readonly needsAtomic?: boolean
  run(bench: Bench): Promise<void>
}

let runs = 0

/** A store under test, and short ways to ask it. Every answer is held to its shape. */
export class Bench {
  readonly store: Store
  /** What it can count by, and the first of them, which most checks use. */
  readonly algorithms: readonly AlgorithmName[]
  /** Before every key: several checks may write to one server. */
  readonly #run = `contract-${process.pid}-${Date.now().toString(36)}-${(runs += 1)}`

  constructor(store: Store) {
    this.store = store
    this.algorithms = store.algorithms ?? (Object.keys(implementations) as AlgorithmName[])
  }

  /** A limit whose window is so long that nothing comes back while a check runs. */
  limit(quota = 5, algorithm = this.algorithms[0] as AlgorithmName, window = '10 h'): LimitInput {
    const { name } = implementations[algorithm]
    return hasAnyWindow(algorithm) ? { quota, window, algorithm: name } : `${quota}/month`
  }

  /** So many units of one limit. */
  set(quota?: number, algorithm?: AlgorithmName): LimitSet {
    return limitSetOf(this.limit(quota, algorithm))
  }

  /** Two limits that differ, by one algorithm or two. */
  pair(wide: number, narrow: number): LimitSet {
    const [first, second = first] = this.algorithms
    return limitSetOf(this.limit(wide, first), this.limit(narrow, second, '20 h'))
  }

  key(name: string): string {
    return `${this.#run}:${name}`
  }

  id(name: string): string {
    return `${this.#run}-${name}`
  }

  part(name: string, cost = 1, set: LimitSet = this.set()): SubRequest {
    return { key: this.key(name), set, cost }
  }

  /** Of what was used at some ages in µs: each limit `[units, age]` pairs, oldest first. */
  used(
    name: string,
    set: LimitSet,
    ...usages: readonly (readonly [units: number, ageUs: number][])[]
  ): SubRequest {
    const used = usages.map((own) => own.map(([units, ageUs]): Usage => ({ units, ageUs })))
    return { key: this.key(name), set, cost: 1, used }
  }

  async consume(...batch: readonly StoreRequest[]): Promise<Outcome[]> {
    return this.#ask('consume', batch)
  }

  async peek(...batch: readonly StoreRequest[]): Promise<Outcome[]> {
    return this.#ask('peek', batch)
  }

  async refund(...batch: readonly RefundRequest[]): Promise<boolean[]> {
    const answers = await this.#given(this.store.refund(batch))
    assert.equal(answers.length, batch.length, 'a refund has one answer for each request of the batch')
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer
      assert.ok(isRefundAnswer(answer), 'the answer to a refund is true or false')
      return answer
    })
  }

  /** Units that are left of each limit. */
  async left(name: string, set: LimitSet = this.set()): Promise<number[]> {
    const [outcome] = await this.peek(all(this.part(name, 1, set)))
    return remainingOf(outcome as Outcome)
  }

  async #ask(how: 'consume' | 'peek', batch: readonly StoreRequest[]): Promise<Outcome[]> {
    const answers = await this.#given(this.store[how](batch))
    assert.ok(
      Array.isArray(answers) && answers.length === batch.length,
      'one answer for each request of the batch',
    )
    return answers.map((answer, i) => {
      if (answer instanceof Error) throw answer
      const isOne = isOutcome(answer, batch[i] as StoreRequest)
      assert.ok(isOne, `an answer is no outcome of its request: ${JSON.stringify(answer)}`)
      return answer
    })
  }

  #given<T>(given: T | Promise<T>): T | Promise<T> {
    if (this.store.synchronous) assert.ok(!isPromise(given), 'what a synchronous store answers is no promise')
    return given
  }
}

/** Whether its windows can be of any length. One that shares its name with another is meant by the window: a month. */
export function hasAnyWindow(algorithm: AlgorithmName): boolean {
  return implementations[algorithm].name === algorithm
}

export function all(...parts: readonly SubRequest[]): StoreRequest {
  return { shard: 0, parts, grant: 'all' }
}

export function upTo(...parts: readonly SubRequest[]): StoreRequest {
  return { shard: 0, parts, grant: 'upTo' }
}

export function force(parts: readonly SubRequest[], id?: string): StoreRequest {
  return { shard: 0, parts, grant: 'force', id }
}

export function remainingOf({ limits }: Outcome): number[] {
  return limits.map(({ remaining }) => remaining)
}

export function grantedOf({ limits }: Outcome): (number | undefined)[] {
  return limits.map(({ granted }) => granted)
}

export function isTaken({ limits }: Outcome): boolean {
  return limits.every(({ wait }) => wait === 0)
}

/** Of several outcomes, which were allowed. */
export function taken(outcomes: readonly Outcome[]): boolean[] {
  return outcomes.map(isTaken)
}
