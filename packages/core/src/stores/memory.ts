import { kernels, type AnyKernel } from '../algorithms/algorithm.js'
import type { Refund } from '../algorithms/kernel.js'
import { ConfigError } from '../errors.js'
import type { LimitSet, Params } from '../limit-set.js'
import {
  KEPT_UNDER_TEST_CLOCK_MS,
  type LimitOutcome,
  type Outcome,
  type RefundRequest,
  type Store,
  type StoreRequest,
} from './store.js'

export interface MemoryStoreOptions {
  /**
   * How many subjects are remembered at most; beyond it the one that has been idle longest is forgotten. A
   * subject takes 0.3 to 3 kB. Default: 100 000.
   */
  readonly maxSubjects?: number
  /** Now, in ms since 1970, in place of Date.now; for tests. Subjects are then remembered an hour longer. */
  readonly now?: () => number
}

/** What a subject has used: the state of each limit of `set` as of `last`. Times in µs. */
interface Entry {
  last: number
  expires: number
  set: LimitSet
  states: object[]
}

/** How many old subjects each request looks at, to see whether they can go. */
const SWEPT_PER_REQUEST = 2

/**
 * Counts in this process's memory: the store when none is given. Several processes each hold a tenant to the
 * whole plan. Nothing runs in the background: subjects that can be forgotten leave while others come.
 *
 * @throws {ConfigError} when maxSubjects is not a whole number from 1
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  const { maxSubjects = 100_000, now } = options
  if (!Number.isSafeInteger(maxSubjects) || maxSubjects < 1) {
    throw new ConfigError('maxSubjects', maxSubjects, 'a whole number from 1')
  }
  if (now !== undefined && typeof now !== 'function') {
    throw new ConfigError('now', now, 'a function that returns ms since 1970')
  }
  return new MemoryStore(maxSubjects, now)
}

class MemoryStore implements Store {
  readonly immediate = true
  /** In the order of last use, so that the first is the one idle longest. */
  readonly #entries = new Map<string, Entry>()
  readonly #maxSubjects: number
  readonly #now: () => number
  readonly #keptUs: number
  #sweep: Iterator<[string, Entry]> = this.#entries.entries()

  constructor(maxSubjects: number, now: (() => number) | undefined) {
    this.#maxSubjects = maxSubjects
    this.#now = now ?? Date.now
    this.#keptUs = now ? KEPT_UNDER_TEST_CLOCK_MS * 1000 : 0
  }

  consume(batch: readonly StoreRequest[]): Outcome[] {
    return batch.map((request) => this.#decide(request, true))
  }

  peek(batch: readonly StoreRequest[]): Outcome[] {
    return batch.map((request) => this.#decide(request, false))
  }

  refund({ key, set, limits }: RefundRequest): boolean {
    const now = this.#clock()
    const entry = this.#entries.get(key)
    if (!entry || entry.expires <= now) return false
    const loaded = load(entry, set, now)
    const given = loaded.map(({ kernel, state, params }, i) =>
      kernel.give(state, limits[i] as Refund, params),
    )
    write(entry, set, loaded, now)
    return given.includes(true)
  }

  reset(key: string): void {
    this.#entries.delete(key)
  }

  close(): void {
    this.#entries.clear()
  }

  #clock(): number {
    return Math.round(this.#now() * 1000)
  }

  #decide({ key, set, cost }: StoreRequest, take: boolean): Outcome {
    const now = this.#clock()
    this.#forgetIdle(now)
    const known = this.#entries.get(key)
    const entry = known && known.expires > now ? known : { last: now, expires: 0, set, states: [] }
    const loaded = load(entry, set, now)
    const waits = loaded.map(({ kernel, state, params }) => kernel.wait(state, cost, params))
    const taken = take && waits.every((wait) => wait === 0)
    if (taken) {
      for (const { kernel, state, params } of loaded) kernel.take(state, cost, params)
      write(entry, set, loaded, now)
      entry.expires = now + set.ttlMs * 1000 + this.#keptUs
    }
    if (taken || (take && known === entry)) this.#touch(key, entry)
    return { at: now, limits: loaded.map((limit, i) => outcomeOf(limit, waits[i] as number)) }
  }

  /** Makes it the last in the order of use, and forgets the first when there is no room. */
  #touch(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#entries.size <= this.#maxSubjects) return
    for (const [oldest] of this.#entries) {
      this.#entries.delete(oldest)
      return
    }
  }

  #forgetIdle(now: number): void {
    for (let i = 0; i < SWEPT_PER_REQUEST; i += 1) {
      const { done, value } = this.#sweep.next()
      if (done) {
        this.#sweep = this.#entries.entries()
        return
      }
      if (value[1].expires <= now) this.#entries.delete(value[0])
    }
  }
}

/** A limit of a subject, brought to now. */
interface Loaded {
  readonly kernel: AnyKernel
  readonly state: object
  readonly params: Params
}

function load(entry: Entry, set: LimitSet, now: number): Loaded[] {
  const states = entry.set === set ? entry.states : adopt(entry, set)
  return set.limits.map((limit, i) => {
    const kernel = kernels[limit.kernel]
    const params = limit.paramsAt(now / 1000)
    const state = states[i] ?? kernel.create()
    kernel.load(state, entry.last, now, params)
    return { kernel, state, params }
  })
}

function write(entry: Entry, set: LimitSet, loaded: readonly Loaded[], now: number): void {
  entry.set = set
  entry.states = loaded.map(({ state }) => state)
  entry.last = now
}

/**
 * The states that the limits of another set find under their marks: the next one, or the first that fits, as the
 * script for Redis looks for them.
 */
function adopt({ set: old, states }: Entry, { limits }: LimitSet): (object | undefined)[] {
  const taken = new Set<number>()
  let next = 0
  return limits.map(({ mark }) => {
    const i = old.limits[next]?.mark === mark ? next : old.limits.findIndex((limit) => limit.mark === mark)
    next = i + 1
    const state = states[i]
    if (taken.has(i)) return structuredClone(state)
    taken.add(i)
    return state
  })
}

function outcomeOf({ kernel, state, params }: Loaded, wait: number): LimitOutcome {
  const remaining = kernel.remaining(state, params)
  return { wait, remaining, reset: Math.max(kernel.wait(state, remaining + 1, params), 0) }
}
