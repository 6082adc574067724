import assert from 'node:assert/strict'
import {
  implementations,
  isOutcome,
  isRefundAnswer,
  createLimitSet,
  type AlgorithmName,
  type ChargedPart,
  type LimitInput,
  type LimitOptions,
  type LimitSet,
  type Outcome,
  type RefundRequest,
  type Store,
  type StoreRequest,
  type SubRequest,
  type Usage,
} from '@tollgate/core/store'
import type { PassTime, StoreContractOptions } from './options.js'
import { all, hasAnyWindow, remainingOf, windowAlgorithms } from './requests.js'
import { same } from './same.js'

/** An ability of stores, or that the clock of the store can be set. */
export type Need =
  | 'atomic'
  | 'leases'
  | 'holds'
  | 'slots'
  | 'blocks'
  | 'observers'
  | 'overage'
  | 'accounts'
  | 'billingDays'
  | 'rules'
  | 'board'
  | 'passTime'

/** One requirement for every store, as a check. */
export interface Check {
  readonly name: string
  /** Only for stores that have all of these abilities, and with `passTime` only if the test can set the store's clock. */
  readonly needs?: readonly Need[]
  /** Where docs/reference/store-contract.md has that part of the contract. Default: the-contract. */
  readonly section?: string
  run(bench: Bench): Promise<void>
}

let runs = 0

/** A store under test, and short ways to call it. Every answer is checked for its shape. */
export class Bench {
  readonly store: Store
  /** The algorithms that the store supports, of those that count in time. Most checks use the first. */
  readonly algorithms: readonly AlgorithmName[]
  /** The beginning of every key of this bench, since several checks may write to the same server. */
  readonly #run = `contract-${process.pid}-${Date.now().toString(36)}-${(runs += 1)}`

  readonly windows: NonNullable<StoreContractOptions['windows']>
  readonly falseDenials: boolean
  readonly clockErrorMs: number
  readonly #passTime: PassTime | undefined

  constructor(
    store: Store,
    {
      passTime,
      windows = 'at-first-request',
      falseDenials = false,
      clockErrorMs = 0,
    }: StoreContractOptions = {},
  ) {
    this.store = store
    this.windows = windows
    this.falseDenials = falseDenials
    this.clockErrorMs = clockErrorMs
    this.#passTime = passTime
    this.algorithms = windowAlgorithms.filter((name) => store.algorithms?.includes(name) ?? true)
  }

  /** Lets time pass for the store. */
  pass(ms: number): void {
    assert.ok(this.#passTime, 'the clock of the store can be set')
    this.#passTime(this.store, ms)
  }

  /** A limit with so long a window that no unit comes back during a check. */
  limit(quota = 5, algorithm = this.algorithms[0] as AlgorithmName, window = '10 h'): LimitInput {
    const { name } = implementations[algorithm]
    return hasAnyWindow(algorithm)
      ? { quota, window, algorithm: name as NonNullable<LimitOptions['algorithm']> }
      : `${quota}/month`
  }

  /** A set with one limit. */
  set(quota?: number, algorithm?: AlgorithmName): LimitSet {
    return createLimitSet(this.limit(quota, algorithm))
  }

  /** A set with two different limits, of two algorithms if the store supports two. */
  pair(wide: number, narrow: number): LimitSet {
    const [first, second = first] = this.algorithms
    return createLimitSet(this.limit(wide, first), this.limit(narrow, second, '20 h'))
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

  /** A part with used units: for each limit a list of `[units, age in µs]`, oldest first. */
  used(
    name: string,
    set: LimitSet,
    ...usages: readonly (readonly [units: number, ageUs: number][])[]
  ): ChargedPart {
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
    same(answers.length, batch.length, 'the number of answers of refund, one for each request of its batch')
    return answers.map((answer) => {
      if (answer instanceof Error) throw answer
      assert.ok(
        isRefundAnswer(answer),
        `the answer to a refund is true or false; it was ${JSON.stringify(answer)}`,
      )
      return answer
    })
  }

  /** Forgets what is counted under keys; `set` has the limits that these were asked with. */
  async reset(keys: readonly string[], set: LimitSet = this.set(), shard = 0): Promise<unknown> {
    return await this.store.reset(keys, shard, [set])
  }

  /** Units left of each limit. */
  async left(name: string, set: LimitSet = this.set()): Promise<number[]> {
    const [outcome] = await this.peek(all(this.part(name, 1, set)))
    return remainingOf(outcome as Outcome)
  }

  /** Checks how many units of a quota callers got that asked at the same time for more than that. */
  admitted(units: number, quota: number, what: string): void {
    assert.ok(units <= quota, `${what}: never more than the quota is given; it was ${units}`)
    if (!this.falseDenials) same(units, quota, what)
  }

  async #ask(how: 'consume' | 'peek', batch: readonly StoreRequest[]): Promise<Outcome[]> {
    const answers = await this.#given(this.store[how](batch))
    assert.ok(
      Array.isArray(answers) && answers.length === batch.length,
      `${how} answers with an array that has one answer for each of the ${batch.length} requests of its batch`,
    )
    return answers.map((answer, i) => {
      if (answer instanceof Error) throw answer
      const request = batch[i] as StoreRequest
      assert.ok(isOutcome(answer, request), notOutcome(how, answer, request))
      return answer
    })
  }

  #given<T>(given: T | Promise<T>): T | Promise<T> {
    if (this.store.synchronous)
      assert.ok(
        !isPromise(given),
        'a store that says it is `synchronous` answers with values; this answered with a promise',
      )
    return given
  }
}

function notOutcome(how: string, answer: unknown, { parts, grant }: StoreRequest): string {
  const limits = parts.flatMap(({ set }) => set.limits).length
  const units = grant === 'all' ? '' : ', and with this grant what the contract says of it'
  const asked = `an outcome has \`at\`, and \`wait\`, \`remaining\` and \`reset\` of each limit${units}`
  return `${how} answered a request with grant ${grant} for ${limits} limits with ${JSON.stringify(answer)}: ${asked}`
}

/** As `await` knows it: promises of every library have a `then`. */
function isPromise(given: unknown): boolean {
  return typeof (given as { readonly then?: unknown } | null | undefined)?.then === 'function'
}
